"""The training scripts of live incidents: what the same command promises, before anything is broken."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

INCIDENTS = Path(__file__).parents[2] / "content" / "incidents"

pytestmark = pytest.mark.exhaustive


def start(baseline: str, folder: Path, *arguments: str) -> str:
    """Run the script of ``baseline`` in ``folder`` and return its log."""
    script = INCIDENTS / baseline / "run.py"
    command = [sys.executable, str(script), "--seed", "3", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "checkpoint.pt")["model"]


def losses(log: str) -> list[str]:
    return [line.split()[3] for line in log.splitlines()]


@pytest.mark.parametrize("baseline", ["mlp"])
def test_a_run_that_was_interrupted_goes_on_to_the_last_bit(baseline: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    log = start(baseline, whole, "--steps", "24")
    first = start(baseline, parts, "--steps", "9")
    second = start(baseline, parts, "--steps", "24", "--resume")

    assert losses(first + second) == losses(log)
    expected, resumed = tensors(whole), tensors(parts)
    assert expected.keys() == resumed.keys()
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)
