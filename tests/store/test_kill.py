"""Twenty SIGKILLs; ``benchmarks/kill.py`` does hundreds."""

import importlib.util
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "kill.py"


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX matter")
def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("kill_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    found = benchmark.run(20, 3, tmp_path)
    assert found["acknowledged"] > 0
    assert (found["lost"], found["failed_opens"], found["rebuilt_differs"]) == (0, 0, 0)
