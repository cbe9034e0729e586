"""The first minute of a new user: from the welcome by three questions to the first card."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from quizapp import paths
from quizapp.scheduling.service import Study
from quizapp.settings.model import load_settings
from quizapp.tui.app import QuizApp
from tests.tui.drawn import text
from tests.tui.waiting import opened, shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]


@pytest.fixture
def new_user(bank, monkeypatch: pytest.MonkeyPatch, home) -> None:
    """A home folder in which nothing was done, and the small bank."""
    monkeypatch.setattr("quizapp.bank.loader.load_bank", lambda *_: bank)


def place(app: QuizApp) -> str:
    return app.screen.place


async def test_a_new_user_answers_three_questions_and_meets_the_first_card(new_user: None) -> None:
    running = QuizApp()
    async with running.run_test(size=(80, 24)) as pilot:
        # Nothing else was on the screen before.
        assert place(running) == "tour"
        assert len(running.screen_stack) == 1
        await shows(pilot, "Welcome to quizapp")
        await opened(pilot)
        await pilot.press("enter", *"3 weeks", "enter")
        await shows(pilot, "Which role")
        await pilot.press("down", "enter", "up", "enter")
        day = running.study.today() + timedelta(days=21)
        said = f"{day.day} {day:%B %Y}, 20 minutes a day, Applied fine-tuning"
        await until(pilot, lambda: said in " ".join(text(running).split()))
        await pilot.press("enter")
        await until(pilot, lambda: place(running) == "drill" and running.screen.card is not None)
        plan = load_settings(paths.config()).plan
        assert (plan.until, plan.minutes, plan.role) == (day, 20, "applied-fine-tuning")
        assert running.study.settings.plan == plan
        await pilot.press("q")
        await until(pilot, lambda: place(running) == "home")
        await until(pilot, lambda: "in 21 days" in text(running))
    again = QuizApp()
    async with again.run_test() as pilot:
        await opened(pilot)
        assert place(again) == "home"


async def test_every_question_can_be_skipped_and_the_plan_is_offered(new_user: None) -> None:
    running = QuizApp()
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("enter", "escape", "enter", "enter")
        await shows(pilot, "No date yet")
        await pilot.press("p")
        await until(pilot, lambda: place(running) == "plan")
        await shows(pilot, "not set")
        await pilot.press("escape")
        await until(pilot, lambda: place(running) == "home")


async def test_the_welcome_can_be_left_for_home_at_once(new_user: None) -> None:
    running = QuizApp()
    async with running.run_test() as pilot:
        await opened(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: place(running) == "home")
        await until(pilot, lambda: "6 new" in text(running))
    assert not paths.config().exists()


async def test_a_day_that_is_none_stays_in_the_field(new_user: None) -> None:
    running = QuizApp()
    async with running.run_test() as pilot:
        await pilot.press("enter", *"soon", "enter")
        await shows(pilot, "When is your interview?")
        assert running.screen.query_one("#date").value == "soon"
        await until(pilot, lambda: any("is not a day" in notice.message for notice in running._notifications))


async def test_taken_again_the_tour_begins_with_the_answers_in_force(app: App, study: Study) -> None:
    running = app()
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("i", "enter", *"2 weeks", "enter", "enter", "enter", "escape")
        await until(pilot, lambda: place(running) == "home")
        await pilot.press("i", "enter")
        wanted = running.study.today() + timedelta(days=14)
        assert running.screen.query_one("#date").value == wanted.isoformat()
