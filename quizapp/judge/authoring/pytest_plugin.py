"""The pytest fixture ``observe``, which lets authors run ``pytest exercises/SLUG/hidden``.

It runs ``solution.py``, or the file that QUIZAPP_SUBMISSION names, once for each hidden test file.
"""

import atexit
import os
from functools import cache
from pathlib import Path

import pytest

from quizapp.judge.authoring.exercise_check import ExerciseChecker
from quizapp.judge.testing.checks import Observe

_SEED = 1000


@cache
def _checker() -> ExerciseChecker:
    checker = ExerciseChecker()
    atexit.register(checker.close)
    return checker


@pytest.fixture(scope="module")
def observe(request: pytest.FixtureRequest) -> Observe:
    """The evidence of one run of the submission under a fixed seed."""
    folder = Path(request.path).parent.parent
    submission = Path(os.environ.get("QUIZAPP_SUBMISSION", folder / "solution.py"))
    seeded = _checker().observe(folder, submission.read_text(encoding="utf-8"), _SEED)
    if seeded.evidence.status:
        pytest.fail(f"{submission.name}: {seeded.evidence.problem}", pytrace=False)
    from quizapp.bank.parse_exercise import load_exercise

    exercise, _ = load_exercise(folder)
    assert exercise is not None
    return Observe(seeded.given, seeded.evidence.values, seeded.evidence.errors, exercise.module, "cpu")
