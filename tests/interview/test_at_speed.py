"""A mock interview at speed: keys that come in a burst, time that runs out under the fingers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events

from quizapp.interview.service import Interview
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.screens.interview.time_up import TimeUp
from tests.interview.mock_kit import Hand, begin, sit_down, small_bank, study
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What closes each notice; no timer does, because a busy machine may be late with the keys."""
    closing: list[Callable[[], None]] = []
    monkeypatch.setattr(TimeUp, "set_timer", lambda _, __, close: closing.append(close))
    return closing


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank()) as opened:
        yield opened


def at(made, kind: str, *, code: bool = False) -> tuple[Interview, Hand]:
    """An interview in which the first item of a kind is open."""
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=code)
    session = interview.session
    session.proceed()
    while session.item is not None and session.item.kind != kind:
        hand.seconds += 1.5 * session.item.budget + 1
        session.tick(present=True)
    assert session.item is not None
    return interview, hand


def pass_budget(screen: RunScreen, hand: Hand) -> None:
    """Time runs out for the question in hand, seen by somebody who sits there."""
    hand.seconds += 1.5 * screen.session.item.budget - screen.session.item.used_ms / 1000 - 1
    screen.session.tick(present=True)
    hand.seconds += 2
    screen.tick()


async def test_ctrl_r_takes_all_that_was_typed_before_it(made) -> None:
    interview, _ = at(made, "recall")
    item = interview.session.item
    words = "a first sentence of some length, then a second one that comes as fast as a paste " * 4
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        for letter in words:
            app.post_message(events.Key("space" if letter == " " else letter, letter))
        app.post_message(events.Key("ctrl+r", None))
        await until(pilot, lambda: item.state == "confidence")
        assert item.typed == words


async def test_what_is_typed_when_a_question_is_cut_reaches_no_other(made, notices) -> None:
    interview, hand = at(made, "recall")
    item = interview.session.item
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press(*"so")
        pass_budget(screen, hand)
        await pilot.press(*" it is", "enter", "1", "ctrl+r")
        await pilot.pause()
        assert isinstance(app.screen, TimeUp)
        assert (item.state, item.typed) == ("cut", "so")
        after = interview.session.item
        assert after is not item
        assert (after.state, after.typed, after.given) == ("open", "", None)
        await until(pilot, lambda: notices)
        notices.pop()()
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("x", "ctrl+r")
        await until(pilot, lambda: after.state != "open")


async def test_a_dialog_about_a_question_goes_with_it(made, notices) -> None:
    interview, hand = at(made, "recall")
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("ctrl+e")
        await pilot.pause()
        assert isinstance(app.screen, Choose)
        pass_budget(screen, hand)
        await until(pilot, lambda: notices)
        notices.pop()()
        await until(pilot, lambda: app.screen is screen)


async def test_the_clock_ends_the_interview_and_the_keys_of_that_moment_mark_nothing(made, notices) -> None:
    interview, hand = at(made, "recall")
    interview.session.type("because of the mean")
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("ctrl+e")
        await pilot.pause()
        hand.seconds += 4000
        screen.tick()
        await pilot.press(*"yn", "enter")
        await until(pilot, lambda: notices)
        notices.pop()()
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        assert app.screen.at == 0
        assert screen not in app.screen_stack


async def test_the_task_scrolls_by_keys(made) -> None:
    interview, _ = at(made, "coding", code=True)
    item = interview.session.item
    item.asked.prompt = "\n\n".join(f"Rule number {number}." for number in range(60))
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("f2")
        await pilot.pause()
        pane = screen.query_one("#pane-task")
        await pilot.press("down")
        await until(pilot, lambda: pane.scroll_offset.y == 1)
        for _ in range(40):
            await pilot.press("pagedown")
        await until(pilot, lambda: pane.scroll_offset.y == pane.max_scroll_y > 0)
        await shows(pilot, "Rule number 59.")
