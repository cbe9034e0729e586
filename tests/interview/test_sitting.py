"""Sitting and leaving: discarding, changing an answer, deciding every point, what counts."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.interview import archive
from quizapp.interview.report.model import load_report
from quizapp.interview.report.next_steps import StepTarget, target_of
from quizapp.interview.service import Interview
from quizapp.scheduling.views import ExerciseProgress
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from tests.interview.mock_kit import answer_now, begin, real_bank, sit_down, small_bank, study, wait
from tests.interview.test_code_rounds import behaviours, verdict
from tests.tui.drawn import text


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank()) as one:
        yield one


def at_question(made, kind: str, seed: int = 1):
    """A quiz with a question of this kind in hand."""
    for number in range(seed, seed + 20):
        interview, hand = begin(made, "research-engineer", 20, seed=number, round_name="quiz")
        session = interview.session
        session.proceed()
        for item in session.items:
            if item.kind == kind:
                session.open(item.number)
                return interview, hand, item
        interview.discard()
    raise AssertionError(f"no {kind} was drawn")


def test_an_interview_without_an_answer_is_discarded_without_a_trace(made) -> None:
    interview, hand = begin(made, "research-engineer", 30, seed=1)
    interview.session.proceed()
    wait(interview, hand, 40)
    assert interview.can_discard
    assert archive.can_discard(archive.running(made).document)
    interview.discard()
    wait(interview, hand, 10)
    interview.save()
    assert archive.interviews(made) == []
    assert made.stats().reviews == 0


def test_after_the_first_answer_nothing_is_discarded(made) -> None:
    interview, hand = begin(made, "research-engineer", 30, seed=1)
    interview.session.proceed()
    wait(interview, hand, 5)
    answer_now(interview)
    interview.save()
    assert not interview.can_discard
    assert not archive.can_discard(archive.running(made).document)


def test_an_answer_can_be_changed_until_the_confidence_is_given(made) -> None:
    interview, hand, item = at_question(made, "choice")
    session = interview.session
    wait(interview, hand, 10)
    session.give(1)
    session.submit()
    wait(interview, hand, 7)
    session.revise()
    assert (item.state, item.frozen_ms, item.used_ms) == ("open", None, 17_000)
    session.give(0)
    session.submit()
    session.confide(75)
    assert session.revise() == []
    assert item.given == 0


def test_an_order_that_was_not_touched_scores_nothing(made) -> None:
    interview, hand, item = at_question(made, "order")
    wait(interview, hand, 30)
    interview.session.submit()
    interview.session.confide(100)
    interview.session.end("early")
    assert interview.finished().question(item.number).marks.total == 0


def test_one_that_does_not_count_stays_out_of_every_comparison(made) -> None:
    for counts in (True, False):
        interview, hand = begin(made, "research-engineer", 30, seed=1 + counts, code=False)
        interview.session.proceed()
        wait(interview, hand, 5)
        answer_now(interview)
        interview.session.end("early")
        assert not interview.reached_half
        report = interview.record(counts=counts)
        made.clock.time += timedelta(days=3)
    assert load_report(json.loads(json.dumps(report.as_json()))).counts is False
    assert [one.id for one in archive.done(made)] != []
    assert report.id not in {one.id for one in archive.done(made)}
    assert archive.find_report(made, report.id).id == report.id


def test_a_pass_in_an_interview_passes_the_exercise_and_one_undo_takes_it_back(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        interview, hand = begin(made, "post-training", 45, seed=5, round_name="coding")
        interview.session.proceed()
        item = interview.session.item
        wait(interview, hand, 60)
        core = sum(stage.is_core for stage in real_bank().exercises[item.exercise].stages)
        if len(item.stages) < core:
            pytest.skip("the round does not ask for the whole core")
        while not item.staged_run.finished:
            now = interview.session.elapsed_ms
            interview.submitted(0, "x", verdict(item, behaviours(item), item.staged_run.shown), now)
        interview.session.end("early")

        def state() -> ExerciseProgress:
            return made.exercise_states()[item.exercise].state

        assert state() == ExerciseProgress.NEW
        interview.record()
        assert state() in (ExerciseProgress.PASSED, ExerciseProgress.COMPLETE)
        made.undo()
        assert state() == ExerciseProgress.STARTED


def test_the_report_ends_with_what_would_have_brought_the_most(made) -> None:
    interview, _ = begin(made, "training-infrastructure", 60, seed=2)
    interview.session.proceed()
    interview.session.end("early")
    steps = interview.record().next_steps
    kinds = [target_of(step).kind for step in steps]
    assert kinds == ["card", "card", "card", "stages", "incident", "mock"]
    assert steps[3].what.startswith("Write ")
    assert steps[3].command.endswith("--stages")
    assert target_of(steps[0]) == StepTarget("card", steps[0].command.split()[-1])


@pytest.mark.slow
async def test_the_screen_asks_before_an_empty_answer_and_offers_to_discard(made) -> None:
    app = QuizApp(study=made)
    async with app.run_test(size=(100, 30)) as pilot:
        interview, _hand, item = at_question(made, "order")
        screen = await sit_down(app, pilot, interview)
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert isinstance(app.screen, Choose)
        assert "Nothing is moved yet. Leave it like that?" in text(app)  # wider than its answers
        await pilot.press("j", "k", "enter")  # no
        await pilot.pause()
        assert (app.screen, item.state) == (screen, "open")
        await pilot.press("ctrl+r", "j", "enter")
        await pilot.pause()
        assert item.state == "confidence"
        await pilot.press("c")
        await pilot.pause()
        assert item.state == "open"
        await pilot.press("ctrl+e")
        await pilot.pause()
        await pilot.press("j", "j", "enter")
        await pilot.pause()
        assert not isinstance(app.screen, RunScreen)
        assert archive.interviews(made) == []


@pytest.mark.slow
async def test_enter_decides_one_line_and_no_line_is_passed_over(made) -> None:
    interview, _hand, item = at_question(made, "recall")
    interview.session.type("The mean over the batch divides the gradient, and a larger batch costs memory.")
    interview.session.submit()
    interview.session.confide(75)
    interview.session.end("early")
    interview.propose()
    interview = Interview.resume(made, archive.running(made).document)
    app = QuizApp(study=made)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        screen = MarkScreen(interview)
        app.push_screen(screen)
        await pilot.pause()
        while screen.item.number != item.number:
            await pilot.press("enter")
            await pilot.pause()
        lines = len(screen.rubric.order)
        assert lines >= 4
        await pilot.press("right")
        await pilot.pause()
        assert screen.item.number == item.number
        for _ in range(lines):
            assert screen.item.number == item.number
            await pilot.press("enter")
            await pilot.pause()
        assert screen.item.number == item.number
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is not screen or screen.item.number != item.number
