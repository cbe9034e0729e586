"""Interview mode and debugging on the exercise screen, with a judge of the test's own."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp.bank.model import Bank, Stage
from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge.submission import user_path
from quizapp.judge.verdict import StageResult, TestResult, Verdict
from quizapp.practice.debug_files import DebugFiles
from quizapp.practice.practice_folder import PracticeMode
from quizapp.practice.stage_files import StageFiles
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.tui.app import QuizApp
from tests.tui.drawn import text
from tests.tui.test_exercise import Judge, screen
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow

STAGES = (
    Stage("doubling", 3, "Return twice the input.", (1,)),
    Stage("robust", 2, "Leave the input alone.", (2,)),
)
MUTANTS = """
- name: thrice
  breaks: 1
  why: "Every result is half as large again."
  edits: [{replace: "2 * x", with: "3 * x"}]
"""


@pytest.fixture
def study(study: Study, bank: Bank, tmp_path: Path) -> Study:
    """The exercise has two stages and a mutant."""
    folder = Path(shutil.copytree(bank.exercises["double"].folder, tmp_path / "double"))
    (folder / "mutants.yaml").write_text(MUTANTS, encoding="utf-8")
    loaded, _ = load_exercise(folder)
    assert loaded is not None
    double = replace(loaded, stages=STAGES)
    return Study(replace(bank, exercises={"double": double}), study.store, Settings(), study.clock)


@pytest.fixture
def judged(study: Study) -> Callable[..., tuple[QuizApp, Judge]]:
    def make(mode: PracticeMode | None = None) -> tuple[QuizApp, Judge]:
        running, judge = QuizApp("exercise", study=study, slug="double", mode=mode), Judge()
        running.judge = judge  # type: ignore[assignment]
        return running, judge

    return make


def graded(**held: bool) -> Verdict:
    numbers = {"doubling": 1, "robust": 2}
    tests = tuple(
        TestResult(f"test_{name}", numbers[name], passed, "" if passed else "got 1, expected 2", stage=name)
        for name, passed in held.items()
    )
    stages = tuple(StageResult(name, passed) for name, passed in held.items())
    status = "passed" if all(held.values()) else "failed"
    return Verdict("double", "double.py", "cpu", status, tests, 0.1, 7, "T1", stages=stages)


def notices(app: QuizApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


def answer(judge: Judge, verdict: Verdict) -> None:
    newest = judge.submissions[-1]
    newest.on_result(newest, verdict)


def pane(app: QuizApp, widget: str) -> str:
    """What a widget shows, without the breaks of its lines."""
    shown = app.screen.query_one(widget)
    return " ".join(" ".join(strip.text for strip in shown.render_lines(shown.outer_size.region)).split())


async def test_interview_mode_shows_one_brief_after_the_other(
    judged, study: Study, clock: FixedClock
) -> None:
    running, judge = judged()
    async with running.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        own = screen(running).file.path
        await pilot.press("ctrl+g")
        await until(pilot, lambda: screen(running).mode == PracticeMode.STAGES)
        await pilot.pause()
        clock.forward(seconds=65)
        await until(pilot, lambda: "doubling 1:05 of 3:00 · in all 1:05 of 5:00" in text(running))
        await shows(pilot, "Interview: Double a tensor")
        assert "Stage 1: doubling (3 minutes). Return twice the input." in pane(running, "#task")
        assert "Leave the input alone." not in text(running)
        assert "The input is not modified." not in text(running)  # what tests check is not told before

        screen(running).editor.load_text("x = 1\n")
        await pilot.press("ctrl+r")
        assert judge.submissions[-1].stages == 1
        answer(judge, graded(doubling=True))
        await pilot.pause()
        assert 'Stage "doubling" holds. Next: stage "robust".' in pane(running, "#view")
        brief = "Stage 2: robust (2 minutes). Leave the input alone."
        await until(pilot, lambda: brief in pane(running, "#task"))
        assert screen(running).panes.current == "prompt"
        await shows(pilot, "robust 0:00 of 2:00")

        await pilot.press("ctrl+r")
        assert judge.submissions[-1].stages == 2
        answer(judge, graded(doubling=False, robust=False))
        await pilot.pause()
        assert 'Stage "doubling" held before and is broken again.' in pane(running, "#view")

        assert own.read_text() == screen(running).exercise.starter
        assert study.exercise_state("double").state == "passed"
        await pilot.press("escape")
        await until(pilot, lambda: screen(running).mode is None)


async def test_a_run_goes_on_in_another_window_of_the_program(judged) -> None:
    running, judge = judged(PracticeMode.STAGES)
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        answer(judge, graded(doubling=True))
        await pilot.pause()
    again, _ = judged(PracticeMode.STAGES)
    async with again.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert "Leave the input alone." in pane(again, "#task")


async def test_a_save_that_fails_is_no_grade_of_the_run(judged, study: Study) -> None:
    running, judge = judged(PracticeMode.STAGES)
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("ctrl+s")
        answer(judge, graded(doubling=False))
        await pilot.pause()
        files = StageFiles.in_progress(study.bank.exercises["double"])
        assert files.run.grades == []
        await shows(pilot, "does not hold yet")


async def test_the_key_of_a_run_offers_a_new_one(judged, study: Study) -> None:
    running, judge = judged(PracticeMode.STAGES)
    async with running.run_test() as pilot:
        await pilot.pause()
        screen(running).editor.load_text("mine = 1\n")
        await pilot.press("ctrl+r")
        answer(judge, graded(doubling=True))
        await pilot.pause()
        await pilot.press("ctrl+g")
        await pilot.pause()
        await shows(pilot, "double_previous.py")
        await pilot.press("down", "enter")
        files = StageFiles.in_progress(study.bank.exercises["double"])
        await until(pilot, lambda: StageFiles.in_progress(files.exercise).run.shown == 1)
        await until(pilot, lambda: running.screen.place == "exercise" and screen(running).mode)
        assert files.former.read_text() == "mine = 1\n"
        assert screen(running).editor.text == files.starter


async def test_debugging_shows_behaviors_and_no_messages(judged, study: Study) -> None:
    double = study.bank.exercises["double"]
    DebugFiles.begin(double, study.now().time, 1, 3, lambda _: graded(doubling=False, robust=True))
    running, judge = judged(PracticeMode.FAULTS)
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await until(pilot, lambda: "3 * x" in screen(running).editor.text)
        assert "it has 1 fault." in pane(running, "#task")
        await shows(pilot, "Debug: Double a tensor")
        await pilot.press("f8")
        assert "find them first" in notices(running)

        await pilot.press("ctrl+r")
        answer(judge, graded(doubling=False, robust=True))
        await pilot.pause()
        await shows(pilot, "0 of 1 fault found.")
        assert "got 1, expected 2" not in text(running)
        assert study.exercise_state("double").state == "new"

        await pilot.press("ctrl+r")
        answer(judge, graded(doubling=True, robust=True))
        await pilot.pause()
        shown = pane(running, "#view")
        assert "1 of 1 fault found, and every hidden test holds. Rated Hard" in shown
        assert "Every result is half as large again." in shown
        assert not user_path(double).exists()


async def test_faults_are_planted_in_the_background(
    judged, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quizapp.judge.client.one_shot.grade", lambda *_: graded(doubling=False, robust=True))
    running, _ = judged()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+l")
        await until(
            pilot, lambda: screen(running).mode == PracticeMode.FAULTS and screen(running).query("#editor")
        )
        await until(pilot, lambda: "3 * x" in screen(running).editor.text)


async def test_an_exercise_without_mutants_says_so(judged, study: Study) -> None:
    (study.bank.exercises["double"].folder / "mutants.yaml").unlink()
    running, _ = judged()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+l")
        await until(pilot, lambda: "double has no mutants to make faults from" in notices(running))
        assert screen(running).mode is None


async def test_an_open_stage_is_listed_and_comes_back_on_the_home_screen(
    study: Study, clock: FixedClock
) -> None:
    study.record_verdict("double", graded(doubling=True, robust=False).as_json(), source_text="x")
    running = QuizApp("exercises", study=study)
    async with running.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "robust open" in text(running))
        await shows(pilot, "✓ passed")
    clock.forward(days=1)
    running = QuizApp("home", study=study)
    async with running.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Stage robust: Double a tensor" in text(running))
        await shows(pilot, "2 min")
