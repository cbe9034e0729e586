"""The user's run on faulty code, as it is kept on disk."""

from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.submission import user_path
from quizapp.judge.verdict import Verdict
from quizapp.practice.debug_files import DebugFiles, behaviours_only
from quizapp.practice.faults import plant_faults
from tests.practice.test_faults import verdict

MINUTE = 60_000


@pytest.fixture
def lora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path))
    exercise, _ = load_exercise(paths.exercises() / "lora")
    assert exercise is not None
    return exercise


def all_fail(_: bytes) -> Verdict:
    return verdict(*range(1, 13))


def begin(exercise: Exercise, count: int = 2, seed: int = 5) -> DebugFiles:
    return DebugFiles.begin(exercise, 0, count, seed, all_fail)


def test_a_run_has_the_faulty_code_and_the_first_verdict(lora: Exercise, tmp_path: Path) -> None:
    files = begin(lora)

    assert files.path == tmp_path / "exercises" / "lora" / "debug" / "lora.py"
    assert files.path.read_text(encoding="utf-8") == plant_faults(lora, 2, seed=5).source
    assert files.failing == tuple(range(1, 13))
    assert len(files.program.faults) == 2
    assert not user_path(lora).exists()


def test_a_run_goes_on_after_a_restart(lora: Exercise) -> None:
    files = begin(lora)
    files.path.write_text("x = 1\n", encoding="utf-8")
    first, second = (fault.behaviour for fault in files.program.faults)
    files.record(verdict(second, held=(first,)), now=MINUTE)

    again = DebugFiles.continued(lora, 2, seed=None)

    assert again is not None
    assert again.path.read_text(encoding="utf-8") == "x = 1\n"
    assert again.grades[0].found == (first,)
    assert again.seconds(3 * MINUTE) == 180
    assert DebugFiles.continued(lora, 2, seed=6) is None
    assert DebugFiles.continued(lora, 3, seed=None) is None


def test_a_run_ends_when_every_test_holds(lora: Exercise) -> None:
    files = begin(lora)
    outcome = files.record(verdict(held=tuple(range(1, 13))), now=MINUTE)

    assert outcome.passed
    assert DebugFiles.continued(lora, 2, seed=None) is None
    with pytest.raises(QuizError, match="all faults of lora are found already"):
        DebugFiles.in_progress(lora)


def test_grading_without_a_run_says_how_to_begin_one(lora: Exercise) -> None:
    with pytest.raises(QuizError, match="'quizapp exercise lora --faults 4' begins one"):
        DebugFiles.in_progress(lora)


def test_a_new_run_keeps_the_code_of_the_one_before(lora: Exercise) -> None:
    files = begin(lora)
    files.path.write_text("mine = True\n", encoding="utf-8")
    again = begin(lora, seed=6)
    assert again.former.read_text(encoding="utf-8") == "mine = True\n"
    assert again.path.read_text(encoding="utf-8") == plant_faults(lora, 2, seed=6).source


def test_the_verdict_shown_says_which_behaviors_fail_and_not_where() -> None:
    shown = behaviours_only(verdict(1, held=(2,)))
    assert shown.failing_behaviours == {1}
    assert not any(test.message for test in shown.tests)
