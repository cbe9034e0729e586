"""The plan as a screen: set a date, see the forecast, apply a choice, take it back."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from icalendar import Calendar
from textual.widgets import Input

from quizapp import paths
from quizapp.scheduling.service import Study
from quizapp.settings.model import PlanSettings, load_settings
from quizapp.tui.app import QuizApp
from tests.tui.drawn import text
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]


async def test_a_date_a_plan_a_choice_and_back(app: App, study: Study) -> None:
    study.settings = replace(study.settings, plan=PlanSettings(minutes=5, target=0.99))
    running = app()
    async with running.run_test(size=(100, 60)) as pilot:
        await pilot.pause()
        await pilot.press("p")
        await until(pilot, lambda: "not set" in text(running))
        await pilot.press("d", *"2 weeks", "enter")
        day = study.today() + timedelta(days=14)
        await until(pilot, lambda: f"{day.day} {day:%B %Y}: in 14 days" in text(running))
        assert load_settings(paths.config()).plan.until == day
        await until(pilot, lambda: running.screen.phase == "ready")
        await shows(pilot, "Expected recall on the day", "Today", "reviews")
        (option, *_) = running.screen._options
        assert option.can_be_applied
        await pilot.press("1")
        await until(pilot, lambda: running.screen.phase == "ready" and load_settings(paths.config()).plan)
        written = load_settings(paths.config())
        for key, value in option.settings.items():
            assert getattr(written, key) == getattr(running.study.settings, key) == value
        for key, value in option.plan.items():
            assert getattr(written.plan, key) == getattr(running.study.settings.plan, key) == value
        await pilot.press("u")
        restored = load_settings(paths.config())
        assert {key: getattr(restored, key) for key in option.settings} == {
            key: getattr(study.settings, key) for key in option.settings
        }
        assert restored.plan.target == study.settings.plan.target


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [("soon", "is not a day"), ("2020-01-01", "that is past"), ("900 days", "at most 365 days")],
)
async def test_a_wrong_date_is_a_sentence_and_stays_in_the_field(app: App, typed: str, sentence: str) -> None:
    running = app("plan")
    async with running.run_test() as pilot:
        await pilot.press("d", *typed.replace(" ", "_").split("_")[0])
        running.screen.query_one("#field", Input).value = typed
        await pilot.press("enter")
        await pilot.pause()
        assert any(sentence in notice.message for notice in running._notifications)
        assert running.screen.query_one("#field", Input).value == typed
        assert not paths.config().exists()
        await pilot.press("1")
        await pilot.pause()
        assert not running._notifications


async def test_new_cards_a_day_are_typed_and_a_mistake_is_named(app: App) -> None:
    running = app("plan")
    async with running.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("n", *["backspace"] * 4, *"many", "enter")
        await until(
            pilot, lambda: any("a whole number from 0 to 9999" in n.message for n in running._notifications)
        )
        await pilot.press(*["backspace"] * 4, *"17", "enter")
        await shows(pilot, "at most 17 a day")
        assert load_settings(paths.config()).new_per_day == 17


async def test_minutes_role_and_target_go_into_the_file(app: App, study: Study) -> None:
    running = app("plan")
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("m", "down", "enter")
        await pilot.press("r", "down", "enter")
        await pilot.press("t", "down", "enter")
        await pilot.pause()
        plan = load_settings(paths.config()).plan
        assert plan.minutes == 15
        assert plan.role
        assert plan.target == 0.80
        await shows(pilot, f"{plan.minutes} a day")


async def test_x_writes_a_calendar_file_and_says_where(app: App, study: Study) -> None:
    day = study.today() + timedelta(days=3)
    study.settings = replace(study.settings, plan=PlanSettings(minutes=5, until=day))
    running = app("plan")
    async with running.run_test(size=(100, 40), notifications=True) as pilot:
        await until(pilot, lambda: running.screen.phase == "ready")
        await pilot.press("x")
        await shows(pilot, "Written:")
    (event,) = (
        event
        for event in Calendar.from_ical((paths.home() / "exports" / "plan.ics").read_text()).walk("VEVENT")
        if event["SUMMARY"] == "Interview"
    )
    assert event.decoded("DTSTART") == day


async def test_x_without_a_folder_to_write_to_is_a_sentence(app: App, study: Study) -> None:
    day = study.today() + timedelta(days=3)
    study.settings = replace(study.settings, plan=PlanSettings(minutes=5, until=day))
    (paths.home() / "exports").write_text("a file")
    running = app("plan")
    async with running.run_test(size=(100, 40), notifications=True) as pilot:
        await until(pilot, lambda: running.screen.phase == "ready")
        await pilot.press("x")
        notices = running._notifications
        await until(pilot, lambda: any("cannot be written" in notice.message for notice in notices))
