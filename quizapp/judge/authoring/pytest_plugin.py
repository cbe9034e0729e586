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
    run = _checker().run(folder, submission.read_text(encoding="utf-8"), _SEED)
    if run.failure is not None:
        pytest.fail(f"{submission.name}: {run.failure.text}", pytrace=False)
    from quizapp.judge.server.evidence import RunEvidence
    from quizapp.judge.server.exercise_files import load_exercise_code
    from quizapp.judge.testing.draw import Draw

    loaded = load_exercise_code(folder)
    given = loaded.probes.inputs(Draw(_SEED))
    evidence = RunEvidence()
    for probes, transcripts in run.groups:
        evidence.add_transcripts(transcripts, probes, run.nonce, loaded.exercise.module, folder)
    return Observe(given, evidence.values, evidence.errors, loaded.exercise.module, "cpu")
