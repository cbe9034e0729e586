"""What a worker may see: inputs and probes, not the answers that the inputs were made from."""

import ast
from pathlib import Path

import pytest

from quizapp.judge import grade
from quizapp.judge.server.worker_view import (
    depends_on_rank,
    probe_code_without_inputs,
    strip_expected_answers,
)
from tests.judge.field import DATA, Field, exercise

SPY = """
import sys

def unknown(x):
    probes = sys.modules["_probes"]
    found = sorted(name for name in vars(probes) if not name.startswith("__"))
    frame = sys._getframe()
    while frame:
        if "kept" in repr(frame.f_locals.get("given", "")):
            found.append("kept")
        frame = frame.f_back
    raise RuntimeError(f"there is {' '.join(found)}.")
"""


def test_right_code_passes(field: Field) -> None:
    source = (DATA / "riddle" / "solution.py").read_bytes()
    verdict = grade(exercise("riddle"), source, device="cpu", timeout=60.0, tier=field.tier)
    assert verdict.passed, verdict


def test_a_submission_that_looks_around_finds_neither_answers_nor_what_made_them(field: Field) -> None:
    verdict = grade(exercise("riddle"), SPY.encode(), device="cpu", timeout=60.0, tier=field.tier)
    assert verdict.status == "error"
    assert "there is Box." in (verdict.error or "")


def test_what_is_kept_is_left_out_at_any_depth() -> None:
    given = {"a": [{"x": 1, "kept": 2}, ({"kept": 3},)], "kept": {"y": 4}, "b": {"kept": 5, "c": "kept"}}
    assert strip_expected_answers(given) == {"a": [{"x": 1}, ({},)], "b": {"c": "kept"}}
    assert given["kept"] == {"y": 4}


def test_a_rank_gets_its_own_entry_only() -> None:
    given = {"cases": [{"by_rank": [{"x": 1}, {"x": 2, "kept": 3}], "n": 4}], "by_rank": [5]}
    assert strip_expected_answers(given, 1) == {"cases": [{"by_rank": {"x": 2}, "n": 4}], "by_rank": None}
    assert depends_on_rank(given)
    assert not depends_on_rank({"cases": [{"x": 1}], "y": "by_rank"})


def test_what_the_probes_need_stays_with_its_line() -> None:
    text = (
        "import math\nTABLE = {1: lambda n: far(n)}\nANSWERS = [3]\nRUN = print('loaded')\n"
        "def far(n):\n    return near(n)\ndef near(n):\n    return n\ndef inputs(draw):\n    return ANSWERS\n"
        "def probe_a(code, given, record):\n    return TABLE[1](2)\nWANTED = probe_b = None\n"
    )
    tree = probe_code_without_inputs(text)
    names: dict[str, int] = {}
    for statement in tree.body:
        names[getattr(statement, "name", type(statement).__name__) + str(statement.lineno)] = statement.lineno
    assert sorted(names.values()) == [1, 2, 4, 5, 7, 11, 13]
    assert names["probe_a11"] == 11


EXERCISES = Path(__file__).parents[2] / "exercises"


@pytest.mark.parametrize("path", sorted(EXERCISES.glob("*/probes.py")), ids=lambda path: path.parent.name)
def test_probes_leave_comparing_tensors_to_the_judge(path: Path) -> None:
    """A submission could patch what compares beside it."""
    compares = {"equal", "allclose", "isclose", "assert_close"}
    used = {
        n.attr
        for n in ast.walk(probe_code_without_inputs(path.read_text(encoding="utf-8")))
        if isinstance(n, ast.Attribute)
    }
    assert not used & compares
