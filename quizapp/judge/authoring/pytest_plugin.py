"""For authors: the pytest fixture ``observe``, so that ``pytest exercises/SLUG/hidden`` works.

It runs the exercise's ``solution.py``, or the file named by QUIZAPP_SUBMISSION, once per hidden test file.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from quizapp.judge.authoring.exercise_check import ExerciseChecker
from quizapp.judge.testing.checks import Observe

_SEED = 1000


@cache
def _checker() -> ExerciseChecker:
    return ExerciseChecker()


@pytest.fixture(scope="module")
def observe(request: pytest.FixtureRequest) -> Observe:
    """The evidence of one run of the submission."""
    folder = Path(request.path).parent.parent
    submission = Path(os.environ.get("QUIZAPP_SUBMISSION", folder / "solution.py"))
    track = _checker().observe(folder, submission, _SEED)
    if track.evidence.status:
        pytest.fail(f"{submission.name}: {track.evidence.problem}", pytrace=False)
    from quizapp.bank.parse_exercise import load_exercise

    exercise, _ = load_exercise(folder)
    assert exercise is not None
    return Observe(track.given, track.evidence.values, track.evidence.errors, exercise.module, "cpu")
