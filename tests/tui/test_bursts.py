"""Keys that come faster than screens open: pasted text, a slow line, a cat on the keyboard."""

import random
from collections.abc import Callable

import pytest
from textual import events
from textual.widgets import OptionList

from quizapp.tui import actions
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]
LEAVES = {"ctrl+q", "ctrl+c", "ctrl+o", "o", "ctrl+p"}
"""Keys that end the program, hand the terminal to an editor, or open Textual's own palette."""
PLACES = ("home", "drill", "exercises", "exercise", "browse", "statistics", "settings", "tour")


def known() -> list[str]:
    acts = [act for place in ("app", *PLACES, "help", "pager") for act in actions.of_place(place)]
    found = {key for act in acts for key in act.key_list()} - LEAVES
    return sorted(found | set("abcxyz019") | {"backspace", "tab", "shift+tab"})


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 8))]
)
async def test_a_burst_of_keys_never_ends_the_program_in_an_error(app: App, seed: int) -> None:
    rng = random.Random(seed)
    pressed = known()
    running = app(PLACES[seed], **({"slug": "double"} if PLACES[seed] == "exercise" else {}))
    async with running.run_test() as pilot:
        for _ in range(12):
            for key in rng.choices(pressed, k=25):
                running.post_message(events.Key(key, key if len(key) == 1 else None))
            await pilot.pause(0.05)
            if running.return_code is not None:
                break
        assert running.return_code in {None, 0}


async def test_keys_that_come_twice_close_one_dialog_and_no_screen_below(app: App) -> None:
    running, chosen = app("settings"), []
    async with running.run_test() as pilot:
        await pilot.pause()
        below = running.screen
        running.push_screen(Choose("Which?", [("a", "the first")]), chosen.append)
        await pilot.pause()
        dialog = running.screen
        option = dialog.query_one(OptionList)
        for _ in range(2):
            option.action_select()
        await pilot.pause()
        assert chosen == ["a"]
        assert running.screen is below


async def test_a_screen_below_another_is_not_left_by_a_late_key(app: App) -> None:
    running = app("settings")
    async with running.run_test() as pilot:
        await pilot.pause()
        below = running.screen
        running.go("tour")
        await running.run_action("back", below)
        await pilot.pause()
        assert below in running.screen_stack
        assert running.screen.place == "tour"


@pytest.mark.parametrize("place", [place for place in PLACES if place != "exercise"])
async def test_a_screen_may_be_closed_before_it_is_drawn(app: App, place: str) -> None:
    running = app("home")
    async with running.run_test() as pilot:
        await pilot.pause()
        below = running.screen
        running.go(place)
        running.go_back(running.screen)
        await pilot.pause()
        assert running.screen is below
