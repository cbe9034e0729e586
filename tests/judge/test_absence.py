"""What a task consists of does not work in the worker, whoever calls it."""

import pytest

from quizapp.judge import grade
from quizapp.paths import exercises
from tests.judge.attacks.shortcuts import ALL
from tests.judge.field import Field, exercise

SHORTCUTS = {f"{shortcut.exercise}/{shortcut.name}": shortcut for shortcut in ALL}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("label-smoothing/means/closure", "Write the loss from log-probabilities yourself"),
        ("label-smoothing/means/operator", "Write the loss from log-probabilities yourself"),
        ("float-formats/import/thread", "Work with plain Python numbers"),
        ("float-formats/import/loaded_again", "import of _struct halted"),
        ("adaptive-optimizers/means/fresh_copy", "this file is part of what the exercise forbids"),
    ],
)
def test_a_detour_leads_to_something_that_refuses(name: str, says: str, field: Field) -> None:
    shortcut = SHORTCUTS[name]
    folder = exercise(shortcut.exercise, exercises())
    verdict = grade(folder, shortcut.source.encode(), device="cpu", timeout=60.0, tier=field.tier)
    assert not verdict.passed
    assert says in " ".join([verdict.error or "", *(test.message for test in verdict.tests)])


def test_the_rest_of_python_works_without_the_absent_modules(field: Field) -> None:
    folder = exercise("float-formats", exercises())
    solution = (folder.folder / "solution.py").read_text(encoding="utf-8")
    imports = "import collections, dataclasses, decimal, fractions, functools, inspect, itertools, logging\n"
    imports += (
        "import math, numbers, operator, random, re, statistics, tempfile, threading, typing, warnings\n"
    )
    verdict = grade(folder, (imports + solution).encode(), device="cpu", timeout=60.0, tier=field.tier)
    assert verdict.passed, verdict
