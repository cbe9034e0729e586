"""The review screen by its keys: every step, the clock, leaving and coming back, and the reveal."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import TextArea

from quizapp import paths
from quizapp.bank.model import Bank
from quizapp.interview.code_review import judging
from quizapp.interview.code_review.model import CodeReview, ConsequenceMark, ReviewAnswer, ReviewResult
from quizapp.interview.code_review.sample_review import sample_review
from quizapp.interview.code_review.service import remark
from quizapp.scheduling.service import Study
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.code_review.review_screen import ReviewScreen
from quizapp.tui.screens.home import HomeScreen
from tests.interview import mock_kit
from tests.tui.drawn import text
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]
KILLS = """import torch


def check(m):
    x = torch.ones(2)
    assert m.double(x).sum() == 4
    assert x.sum() == 2
"""


class Seconds:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def faulty(bank: Bank) -> CodeReview:
    reviews = (sample_review(bank.exercises["double"], seed) for seed in range(20))
    return next(review for review in reviews if not review.is_correct)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that finds nothing, at once."""

    def judge(review: CodeReview, _: object, answer: ReviewAnswer) -> ReviewResult:
        consequences = [ConsequenceMark(fault.mutant) for fault in review.faults]
        return remark(ReviewResult(review=review, answer=answer, consequences=consequences))

    monkeypatch.setattr(judging, "judge_with_client", judge)


def screen(app: QuizApp) -> ReviewScreen:
    assert isinstance(app.screen, ReviewScreen)
    return app.screen


def notices(app: QuizApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


def fill(app: QuizApp, field: str, source: str) -> None:
    screen(app).query_one(field, TextArea).load_text(source)


@pytest.mark.judge
async def test_a_whole_review_with_the_real_judge(app: App, bank: Bank, study: Study) -> None:
    review = faulty(bank)
    running = app("review", slug="double", seed=review.seed)
    async with running.run_test(size=(80, 24)) as pilot:
        await pilot.press("x", "5", *["down"] * (review.faults[0].lines[0] - 1), "space")
        await pilot.press("enter")
        fill(running, "#words", review.faults[0].why)
        await pilot.press("ctrl+n")
        fill(running, "#check", KILLS)
        await pilot.press("ctrl+n")
        fill(running, "#fixed", review.original)
        await pilot.press("ctrl+s", "enter")
        await until(pilot, lambda: screen(running).phase == "reveal")
        await shows(pilot, "100 of 100")
        await shows(pilot, "It fails on the code shown")
        await pilot.press("enter")
        await shows(pilot, "the next review of this exercise is in")
    assert study.card("review:double").reps == 1
    assert not paths.running_review().exists()


async def test_typing_is_on_disk_within_a_second(app: App, bank: Bank) -> None:
    seconds = Seconds()
    running = app("review", slug="double", seed=faulty(bank).seed, clock=seconds)
    async with running.run_test() as pilot:
        await pilot.press("x", "3", "enter", *"doubled")
        seconds.now += 1.0
        await until(pilot, lambda: b"doubled" in paths.running_review().read_bytes())
        assert screen(running).sitting.seconds_left == 239.0


async def test_a_review_goes_on_where_it_was_left(app: App, bank: Bank) -> None:
    seed = faulty(bank).seed
    first = app("review", slug="double", seed=seed)
    async with first.run_test() as pilot:
        await pilot.press("x", "3", "enter", *"words", "f4")
        await pilot.press("f2", "escape")
        await pilot.pause()
        assert isinstance(first.screen, HomeScreen)
    second = app("review")
    async with second.run_test() as pilot:
        assert screen(second).sitting.review.seed == seed
        await pilot.press("f3")
        assert screen(second).query_one("#words", TextArea).text == "words"


async def test_the_cursor_begins_where_the_learner_has_read_to(tmp_path: Path) -> None:
    made = mock_kit.study(tmp_path, mock_kit.real_bank())
    running = QuizApp("review", study=made, slug="attention", seed=1)
    async with running.run_test(size=(80, 24)) as pilot:
        view = screen(running).panes.view
        await pilot.press("pagedown")
        await until(pilot, lambda: view.scroll_y > 0)
        await pilot.press("x", "5")
        await shows(pilot, "›")
        await pilot.press("space")
        await shows(pilot, "●")


async def test_leaving_before_the_confidence_leaves_no_trace(app: App, study: Study) -> None:
    running = app("review", slug="double")
    async with running.run_test() as pilot:
        await pilot.press("x", "escape", "q")
        await pilot.pause()
    assert not paths.running_review().exists()
    assert study.events() == []


@pytest.mark.usefixtures("judged")
async def test_at_the_end_of_the_time_what_is_there_is_judged(app: App, bank: Bank, study: Study) -> None:
    seconds = Seconds()
    running = app("review", slug="double", seed=faulty(bank).seed, clock=seconds)
    async with running.run_test() as pilot:
        await pilot.press("x", "5", "enter", *"late")
        seconds.now += 181
        await until(pilot, lambda: "One minute left" in notices(running))
        seconds.now += 60
        await until(pilot, lambda: screen(running).phase == "reveal")
        await shows(pilot, "25 of 100")
        await shows(pilot, "You said: late")
        await pilot.press("1")
        await shows(pilot, "33 of 100")  # half of 15, rounded up
        await pilot.press("1", "enter")
    assert study.card("review:double").history[0].rating == 1


@pytest.mark.usefixtures("judged")
async def test_handing_in_asks_and_says_what_is_missing(app: App, bank: Bank) -> None:
    running = app("review", slug="double", seed=faulty(bank).seed)
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("x", "5", "ctrl+s")
        missing = "still missing: a line, the consequence, a test, a fix"
        await until(pilot, lambda: missing in text(running))
        await pilot.press("enter")
        assert screen(running).phase == "point"


async def test_correct_code_asks_for_a_test_only(app: App, bank: Bank) -> None:
    running = app("review", slug="double", seed=faulty(bank).seed)
    async with running.run_test() as pilot:
        await pilot.press("c", "4")
        await shows(pilot, "the behavior that you doubted most")
        await pilot.press("f5")
        assert "nothing to say or fix" in notices(running)


async def test_an_exercise_that_cannot_be_reviewed_says_so(app: App) -> None:
    running = app("review", slug="absent")
    async with running.run_test() as pilot:
        await until(pilot, lambda: isinstance(running.screen, HomeScreen))
        assert "no exercise 'absent'" in notices(running)
