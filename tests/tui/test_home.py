"""Home: what is left, the same counts as everywhere, progress from the first card on, and the interview."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from quizapp.cli.main import main
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.planner.outlook import Outlook, keep_outlook
from quizapp.scheduling.service import Study
from quizapp.tui.app import QuizApp
from tests.tui.drawn import text
from tests.tui.waiting import opened, shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]
OFF_TRACK = Outlook(0.4, 0.85, "25 more minutes a day would reach it.", 30, 3, 4, "", ())


def plan_for(study: Study, days: int, minutes: int = 30) -> None:
    """An interview in so many days."""
    until = study.today() + timedelta(days=days)
    study.settings = replace(study.settings, plan=study.settings.plan._replace(until=until, minutes=minutes))


async def test_home_stats_due_and_the_command_tell_the_same_counts(
    bank, monkeypatch: pytest.MonkeyPatch, capsys, app: App, study: Study
) -> None:
    study.answer("warm-up", Rating.GOOD)  # now in its learning steps
    study.answer("fp16-range", Rating.EASY)  # learned at once
    monkeypatch.setattr("quizapp.cli.study.load_user_bank", lambda: bank)
    monkeypatch.setattr("quizapp.scheduling.service.Study.open", classmethod(lambda *_: study))
    monkeypatch.setattr(study, "close", lambda: None)

    def told(*command: str) -> str:
        assert main(list(command)) == 0
        return capsys.readouterr().out

    figures = json.loads(told("stats", "--json"))
    listed = [card["state"] for card in json.loads(told("due", "--json"))]
    counts = study.counts()
    assert (figures["due"], figures["new"]) == (counts.waiting, counts.new)
    assert (len(listed) - listed.count("new"), listed.count("new")) == (counts.waiting, counts.new)
    assert told().startswith(f"{counts.waiting} due (1 learning, 0 to review), {counts.new} new, about ")
    running = app()
    async with running.run_test() as pilot:
        await until(pilot, lambda: f"{counts.new} new" in text(running))
        await shows(pilot, f"{counts.learning} learning")
        await shows(pilot, f"{counts.due} to review")
        await shows(pilot, f"{figures['learned']} learned")
        await shows(pilot, f"{figures['seen'] - figures['learned']} learning")


async def test_progress_shows_from_the_first_answer_on(app: App, study: Study) -> None:
    running = app()
    async with running.run_test() as pilot:
        await until(pilot, lambda: "0 learned" in text(running))
        await shows(pilot, "▒ 0 learning")
        study.answer("warm-up", Rating.GOOD)
        running.screen.fill()
        await until(pilot, lambda: "▒ 1 learning" in text(running))
        await until(
            pilot, lambda: any("Schedules" in line and "▒" in line for line in text(running).splitlines())
        )


async def test_enter_drills_the_topic_that_one_went_down_to(app: App) -> None:
    running = app()
    async with running.run_test() as pilot:
        await opened(pilot)
        await pilot.press("down", "down")
        here = running.screen.query_one("TopicList").current
        await shows(pilot, f"▸ {here.name[:12]}")
        await pilot.press("enter")
        await pilot.pause()
        assert running.screen.feed.flt.topic == here.topic
        await pilot.press("escape", "escape", "enter")
        await pilot.pause()
        assert running.screen.feed.flt.topic == ""


async def test_a_click_on_a_topic_drills_it(app: App) -> None:
    running = app()
    async with running.run_test() as pilot:
        await opened(pilot)
        topics = running.screen.query_one("TopicList")
        await until(pilot, lambda: topics.content_region.height > 1)
        await pilot.click("TopicList", offset=(8, 1 + topics.content_region.y - topics.region.y))
        await until(pilot, lambda: running.screen.place == "drill")
        assert running.screen.feed.flt.topic == topics.topics[0].topic


@pytest.mark.parametrize(
    ("days", "sentence"),
    [(10, "in 10 days"), (1, "tomorrow"), (0, "today"), (-3, "It was on")],
)
async def test_home_counts_the_days_to_the_interview(
    app: App, study: Study, days: int, sentence: str
) -> None:
    plan_for(study, days)
    keep_outlook(study, OFF_TRACK)
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: sentence in text(running))
        if days > 0:
            await until(pilot, lambda: "Off track: 40 % expected, 85 % wanted." in text(running))
            await until(pilot, lambda: "25 more minutes a day" in text(running))
        else:
            assert "track" not in text(running)
            assert "more minutes a day" not in text(running)


async def test_home_computes_once_a_day_whether_one_is_on_track(app: App, study: Study, clock) -> None:
    plan_for(study, 5, minutes=60)
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "On track: " in text(running) or "Off track: " in text(running))
    asked: list[object] = []
    again = app()
    again.plans.compute = asked.append
    async with again.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: " track: " in text(again))
    assert not asked
    clock.forward(days=1)
    tomorrow = app()
    tomorrow.plans.compute = asked.append
    async with tomorrow.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Working out" in text(tomorrow))
    assert len(asked) == 1


async def test_home_tells_the_minutes_of_today(app: App, study: Study) -> None:
    plan_for(study, 5)
    keep_outlook(study, OFF_TRACK)
    study.answer("warm-up", Rating.GOOD, seconds=240)
    running = app()
    async with running.run_test() as pilot:
        await until(pilot, lambda: "4 of 30 minutes done" in text(running))
