"""Keys that come faster than screens open: pasted text, a slow line, a cat on the keyboard."""

import random
from collections.abc import Callable

import pytest
from textual import events

from quizapp.tui import keys
from quizapp.tui.app import QuizApp

App = Callable[..., QuizApp]
LEAVES = {"ctrl+q", "ctrl+c", "ctrl+o", "o", "ctrl+p"}
"""Keys that end the program, hand the terminal to an editor, or open Textual's own palette."""
PLACES = ("home", "drill", "exercises", "exercise", "browse", "statistics", "settings", "tour")


def known() -> list[str]:
    acts = [act for place in ("app", *PLACES, "help", "pager") for act in keys.of_place(place)]
    found = {key for act in acts for key in act.key_list()} - LEAVES
    return sorted(found | set("abcxyz019") | {"backspace", "tab", "shift+tab"})


@pytest.mark.parametrize("seed", range(8))
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
