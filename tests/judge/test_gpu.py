"""The same hidden tests on a CUDA device; skipped where there is none."""

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge import grade
from quizapp.judge.authoring.mutants import wrong_submissions
from quizapp.judge.sandbox.devices import available

CORE = ("warmup", "loss-scaling", "lora", "zero-memory", "nan-debug")

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True, scope="module")
def cuda() -> None:
    """Skip without a CUDA device."""
    if not any(name.startswith("cuda") for name in available()):
        pytest.skip("there is no CUDA device here")


@pytest.fixture(params=CORE)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    """Each of the core exercises."""
    found, faults = load_exercise(paths.exercises() / request.param)
    assert found is not None, faults
    return found


def test_right_submissions_pass_on_cuda(exercise: Exercise) -> None:
    for path in [exercise.folder / "solution.py", *sorted((exercise.folder / "right").glob("*.py"))]:
        verdict = grade(exercise, path, device="cuda")
        assert verdict.passed, (path.name, verdict.error, [t for t in verdict.tests if not t.passed])
        assert verdict.device == "cuda:0"


def test_wrong_submissions_fail_on_cuda(exercise: Exercise) -> None:
    wrong, faults = wrong_submissions(exercise.folder)
    assert not faults
    for submission in wrong:
        assert not grade(exercise, submission.source.encode(), device="cuda").passed, submission.name


def test_auto_takes_the_gpu() -> None:
    exercise, faults = load_exercise(paths.exercises() / "warmup")
    assert exercise is not None, faults
    assert grade(exercise, exercise.folder / "solution.py").device == "cuda:0"
