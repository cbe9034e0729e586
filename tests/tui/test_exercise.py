"""The exercise screen, with the real judge once and a judge of the test's own elsewhere."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quizapp.errors import QuizError
from quizapp.judge.submission import user_path
from quizapp.judge.verdict import StageResult, TestResult, Verdict
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.events import EventType
from quizapp.scheduling.service import Study
from quizapp.tui.app import QuizApp
from quizapp.tui.bridges.judge_bridge import OnResult, PendingSubmission
from quizapp.tui.screens.exercise.exercise_screen import ExerciseScreen
from tests.tui.drawn import text
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]
RIGHT = "def double(x):\n    return 2 * x\n"


def verdict(*passed: bool) -> Verdict:
    tests = tuple(
        TestResult(f"test_{i}", i, held, "" if held else "[/x] got 1, expected 2")
        for i, held in enumerate(passed, 1)
    )
    return Verdict("double", "double.py", "cpu", "passed" if all(passed) else "failed", tests, 0.1, 7, "T1")


class Judge:
    """Answers when the test says so."""

    is_warm = True

    def __init__(self) -> None:
        self.submissions: list[PendingSubmission] = []
        self.cancelled = 0

    def warm(self) -> None: ...

    def stop(self) -> None: ...

    def cancel(self) -> None:
        self.cancelled += 1

    def submit(
        self, exercise: Any, source: str, device: str, on_result: OnResult, stages: int | None = None
    ) -> None:
        self.submissions.append(PendingSubmission(exercise, source, device, on_result, stages))

    def answer(self, outcome: Verdict | QuizError) -> None:
        """Give the outcome of the first submission."""
        self.submissions[0].on_result(self.submissions[0], outcome)


@pytest.fixture
def judged(app: App) -> Callable[[], tuple[QuizApp, Judge]]:
    def make() -> tuple[QuizApp, Judge]:
        running, judge = app("exercise", slug="double"), Judge()
        running.judge = judge  # type: ignore[assignment]
        return running, judge

    return make


def screen(app: QuizApp) -> ExerciseScreen:
    assert isinstance(app.screen, ExerciseScreen)
    return app.screen


async def test_the_real_judge_fails_the_starter_and_passes_the_solution(app: App, study: Study) -> None:
    running = app("exercise", slug="double")
    async with running.run_test(size=(120, 40)) as pilot:
        for source, status in (("", "failed"), (RIGHT, "passed")):
            if source:
                screen(running).editor.load_text(source)
            await pilot.press("ctrl+r")
            await until(pilot, lambda: screen(running).phase != "judging")
            assert screen(running).view.verdict.status == status
        await shows(pilot, "passed")
        assert study.exercise_state("double").state == "passed"
        assert [one.passed for one in study.submissions("double")] == [False, True]


@pytest.mark.parametrize(("width", "pane"), [(80, "prompt"), (120, "code")])
async def test_an_untouched_exercise_shows_its_task_first(judged, width: int, pane: str) -> None:
    running, _ = judged()
    async with running.run_test(size=(width, 30)) as pilot:
        await pilot.pause()
        assert screen(running).panes.current == pane


async def test_saving_writes_the_file_and_grades_it(judged) -> None:
    running, judge = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        screen(running).editor.load_text(RIGHT)
        await pilot.press("ctrl+s")
        assert user_path(screen(running).exercise).read_text() == RIGHT
        assert judge.submissions[0].source == RIGHT
        assert screen(running).phase == "judging"


async def test_keys_work_while_the_judge_thinks_and_escape_stops_it(judged) -> None:
    running, judge = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r", "f2", "f3", "x")
        assert screen(running).editor.text.startswith("x")
        await pilot.press("escape")
        assert judge.cancelled == 1
        assert screen(running).phase != "judging"
        assert "Stopped." in str(screen(running).view.render())


async def test_verdict_shows_behaviours_and_messages_literally(judged) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        judge.answer(verdict(False, True))
        await shows(pilot, "failed", "[/x] got 1, expected 2", "The input is not modified.")


async def test_a_consequence_is_folded_until_it_is_asked_for(judged) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        tests = (TestResult("a", 1, False, "Off by two."), TestResult("b", 2, False, "Wrong sum."))
        judge.answer(replace(verdict(False, False), tests=tests))
        await pilot.pause()
        await shows(pilot, "Off by two.")
        await shows(pilot, "Probably a consequence")
        assert "Wrong sum." not in text(running)
        await pilot.press("f4", "a")
        await pilot.pause()
        await shows(pilot, "Wrong sum.")


async def test_a_failed_behavior_whose_message_stands_above_says_so(judged) -> None:
    running, judge = judged()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        raised = 'Your code raised ValueError: "no" (line 2 of double.py)'
        tests = tuple(TestResult(f"test_{i}", i, False, raised) for i in (1, 2))
        judge.answer(replace(verdict(False, False), tests=tests))
        await pilot.press("f4", "a")
        await shows(pilot, "See above: Your code raised")


async def test_reset_brings_the_starter_and_keeps_the_code_as_a_past_version(judged) -> None:
    running, _ = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        starter = screen(running).exercise.starter
        screen(running).editor.load_text(RIGHT)
        await pilot.press("f11", "down", "enter")
        await pilot.pause()
        assert screen(running).editor.text == starter
        await pilot.press("f6")
        await pilot.pause()
        await shows(pilot, "kept")
        await pilot.press("enter", "down", "down", "enter")
        await pilot.pause()
        assert screen(running).editor.text == RIGHT


@pytest.mark.parametrize("keys", [["f3", "x"], ["f11", "down", "enter"]], ids=["edit", "reset"])
@pytest.mark.parametrize("size", [(80, 24), (140, 40)], ids=["tabs", "panes"])
async def test_other_code_than_was_graded_marks_the_verdict_as_old(judged, keys, size) -> None:
    running, judge = judged()
    async with running.run_test(size=size) as pilot:
        await pilot.pause()
        screen(running).editor.load_text(RIGHT)
        await pilot.press("ctrl+r")
        judge.answer(verdict(True, False))
        await shows(pilot, "got 1, expected 2")
        assert "older code" not in text(running)
        await pilot.press(*keys)
        await shows(pilot, "Verdict (older code)")
        await pilot.press("f4")
        await shows(pilot, "Of the code before your last change")
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert "older code" not in text(running)


async def test_a_fault_of_the_judge_is_a_sentence(judged) -> None:
    running, judge = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        judge.answer(QuizError("There is no CUDA device here."))
        await pilot.pause()
        await shows(pilot, "There is no CUDA device here.")


async def test_a_file_changed_by_another_editor_is_taken_and_graded(judged) -> None:
    import os

    running, judge = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        path = user_path(screen(running).exercise)
        path.write_text(RIGHT)
        os.utime(path, (1, 1))
        screen(running)._look_at_file()
        assert screen(running).editor.text == RIGHT
        assert len(judge.submissions) == 1


async def test_external_editor_grades_a_change(judged, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    from contextlib import nullcontext

    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\nfor last; do :; done\nprintf "%s" "changed = 1" > "$last"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    running, judge = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        monkeypatch.setattr(running, "suspend", nullcontext)
        await pilot.press("ctrl+o")
        assert screen(running).editor.text == "changed = 1"
        assert len(judge.submissions) == 1


async def test_hints_come_one_by_one_and_count(judged) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        judge.answer(verdict(True, False))
        await pilot.press("ctrl+t")
        await pilot.pause()
        await shows(pilot, "Do not work in place.")
        await pilot.press("ctrl+t", "ctrl+t")
        assert screen(running).grading.hints == 2


async def test_the_solution_before_a_pass_is_asked_for_and_rated_again(judged, study: Study) -> None:
    running, _ = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("f8", "down", "enter")
        await pilot.pause()
        await shows(pilot, "return 2 * x")
        assert study.card("exercise:double").reps == 1


async def test_past_submissions_are_reopened_into_the_editor(judged) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        screen(running).editor.load_text(RIGHT)
        await pilot.press("ctrl+r")
        judge.answer(verdict(True, True))
        screen(running).editor.load_text("other = 1\n")
        await pilot.press("f7")
        await shows(pilot, "+other = 1")
        await pilot.press("escape", "f6", "enter")
        await pilot.pause()
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert screen(running).editor.text == RIGHT


async def test_leaving_saves_the_editor(judged) -> None:
    running, _ = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        path = user_path(screen(running).exercise)
        await pilot.press("f3", "x", "escape")
        await pilot.pause()
        assert path.read_text().startswith("x")
        assert type(running.screen).__name__ == "HomeScreen"


async def test_find_and_indentation(judged) -> None:
    running, _ = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        editor = screen(running).editor
        editor.load_text("")
        await pilot.press("f3", *"def f():", "enter", *"pass")
        assert editor.text == "def f():\n    pass"
        await pilot.press("ctrl+f", *"PASS", "enter")
        assert editor.selected_text == "pass"
        await pilot.press("escape")
        assert running.focused is editor


async def test_lines_are_commented_and_uncommented_and_all_is_selected(judged) -> None:
    running, _ = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        editor = screen(running).editor
        editor.load_text("def f(x):\n    y = x\n\n    return y\n")
        editor.focus()
        await pilot.press("down", "ctrl+underscore")
        assert editor.text == "def f(x):\n    # y = x\n\n    return y\n"
        await pilot.press("ctrl+a", "ctrl+underscore")
        assert editor.text == "# def f(x):\n#     # y = x\n\n#     return y\n"
        await pilot.press("ctrl+a", "ctrl+underscore")
        assert editor.text == "def f(x):\n    # y = x\n\n    return y\n"
        await pilot.press("ctrl+a", "x")
        assert editor.text == "x"


@pytest.mark.parametrize(("size", "together"), [((120, 30), False), ((120, 50), True), ((200, 30), True)])
async def test_task_and_verdict_take_turns_where_they_would_be_short(judged, size, together: bool) -> None:
    running, _ = judged()
    async with running.run_test(size=size) as pilot:
        await pilot.pause()
        panes = screen(running).panes
        await pilot.press("f4")
        await pilot.pause()
        assert panes.pane("verdict").region.height > 10
        assert panes.pane("verdict").region.x == 0 or size[0] == 200
        assert panes.pane("prompt").display is together
        await pilot.press("f2")
        await pilot.pause()
        assert panes.pane("prompt").display
        assert panes.pane("verdict").display is together


async def test_the_pane_that_takes_the_keys_fills_the_screen_and_shrinks_again(judged) -> None:
    running, _ = judged()
    async with running.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        panes = screen(running).panes
        screen(running).editor.focus()
        await pilot.press("f12")
        await pilot.pause()
        assert panes.pane("code").region.width == 120
        await pilot.press("x")
        assert "x" in screen(running).editor.text
        await pilot.press("f4")
        await pilot.pause()
        assert panes.pane("verdict").region.width == 120
        await pilot.press("f12")
        await pilot.pause()
        assert all(panes.pane(name).display for name in ("prompt", "code", "verdict"))


async def test_a_long_line_is_wrapped(judged) -> None:
    running, _ = judged()
    async with running.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen(running).editor.load_text("x = [" + ", ".join(map(str, range(100, 140))) + "]\n")
        await pilot.press("f3")
        await pilot.pause()
        await shows(pilot, "139]")


async def test_ctrl_end_and_ctrl_home_go_to_the_ends_of_the_code(judged) -> None:
    running, _ = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        editor = screen(running).editor
        editor.load_text("a = 1\nb = 2\n")
        editor.focus()
        await pilot.press("ctrl+end", "z")
        assert editor.text == "a = 1\nb = 2\nz"
        await pilot.press("ctrl+home", "ctrl+shift+end", "x")
        assert editor.text == "x"


async def test_a_verdict_whose_core_holds_says_so(judged) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        core = tuple(StageResult(stage.name, stage.is_core) for stage in screen(running).exercise.stages)
        failed = replace(verdict(True, False), stages=(*core, StageResult("robust", False)))
        judge.answer(failed)
        await pilot.pause()
        await shows(pilot, "✓ core passed  1 of 2 tests")


async def test_a_cold_judge_says_that_pytorch_starts(judged) -> None:
    running, judge = judged()
    judge.is_warm = False
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+r")
        await pilot.pause()
        await shows(pilot, "Starting PyTorch")
        judge.is_warm = True
        screen(running)._tick()
        await pilot.pause()
        assert "Starting PyTorch" not in text(running)
        await shows(pilot, "Grading")


async def test_the_device_is_named_only_where_it_was_chosen(judged) -> None:
    running, _ = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "auto" not in text(running).splitlines()[0]
        await pilot.press("f5", "down", "enter")
        await until(pilot, lambda: "on cpu" in text(running).splitlines()[0])


async def test_what_is_typed_is_saved_when_the_fingers_rest_and_when_the_program_ends(judged) -> None:
    running, judge = judged()
    async with running.run_test() as pilot:
        await pilot.pause()
        path = user_path(screen(running).exercise)
        for timer in list(screen(running)._timers):  # otherwise a slow machine looks at the file in between
            timer.pause()
        await pilot.press("f3", "x")
        screen(running)._look_at_file()
        await pilot.press("y")
        screen(running)._look_at_file()
        assert not path.read_text().startswith("x")
        screen(running)._look_at_file()
        assert path.read_text().startswith("xy")
        await pilot.press("z", "ctrl+q")
        await pilot.pause()
    assert path.read_text().startswith("xyz")
    assert judge.submissions == []


async def test_one_pane_is_marked_the_one_that_takes_the_keys(app: App) -> None:
    running = app("exercise", slug="double")
    async with running.run_test(size=(130, 40)) as pilot:
        await pilot.pause()

        def marked() -> list[str]:
            panes = {str(pane.id): pane.styles.border_top[1] for pane in running.screen.query(".pane")}
            return [name for name, colour in panes.items() if list(panes.values()).count(colour) == 1]

        shown = []
        for key in ("f4", "f3", "f2", "f3"):
            await pilot.press(key)
            await pilot.pause()
            shown.append(marked())
        assert shown == [["verdict"], ["code"], ["prompt"], ["code"]]
        running.screen.panes.show("verdict", focus=False)
        await pilot.pause()
        assert marked() == ["code"]


async def test_a_save_that_fails_is_no_submission_and_a_grade_is_one(judged, study: Study) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        screen(running).editor.text = "def double(x):\n    return x\n"
        for key, passed in (("ctrl+s", False), ("ctrl+r", False), ("ctrl+s", False), ("ctrl+r", True)):
            await pilot.press(key)
            await pilot.pause()
            submission = judge.submissions[-1]
            submission.on_result(submission, verdict(True, passed))
            await pilot.pause()
        await shows(pilot, "Rated Good after 2 submissions")
        assert len(study.submissions("double")) == 4


async def test_the_proposed_rating_of_a_pass_can_be_changed(judged, study: Study) -> None:
    running, judge = judged()
    async with running.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        screen(running).editor.load_text(RIGHT)
        await pilot.press("ctrl+r")
        judge.answer(verdict(True, True))
        await pilot.pause()
        await shows(pilot, "f4, then r: another rating")
        await pilot.press("f4", "r", "home", "down", "enter")
        await pilot.pause()
        await shows(pilot, "Rated Hard after 1 submission")
    (event,) = study.store.log.standing(EventType.VERDICT, "exercise:double")
    assert event.rating == Rating.HARD
    assert event.proposed != event.rating
    assert study.exercise_state("double").state == "passed"


async def test_the_next_exercise_is_one_key_away_and_leads_back_home(study: Study) -> None:
    double = study.bank.exercises["double"]
    exercises = {"double": double, "again": replace(double, slug="again", title="Double again")}
    study = Study(replace(study.bank, exercises=exercises), study.store, study.settings, study.clock)
    study.record_verdict("double", verdict(True, True).as_json(), source_text=RIGHT)
    running = QuizApp(study=study)
    async with running.run_test() as pilot:
        await pilot.pause()
        running.go("exercise", slug="double")
        await until(pilot, lambda: running.screen.place == "exercise" and running.screen._grading)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: getattr(running.screen, "slug", "") == "again")
        await until(pilot, lambda: running.screen._grading)
        await pilot.press("ctrl+n")  # it is the next one itself
        await pilot.pause()
        assert running.screen.slug == "again"
        await pilot.press("escape")
        await until(pilot, lambda: running.screen.place == "home")
