"""One table of actions: each has a key, words, help and a palette entry; no key means two things."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.containers import VerticalScroll

from quizapp.tui import actions, startup
from quizapp.tui.app import PLACES, QuizApp
from quizapp.tui.palette import QuizCommands
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.help import HelpTable, acts, help_lines
from tests.tui.waiting import opened, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]
OPTIONS = {"exercise": {"slug": "double"}}
WALK = list(PLACES)
CLICKED = {"mock": {"at"}, "mockpast": {"at"}, "review": {"at"}}
"""Clicks on a row: the keys reach the same by moving the cursor."""
EVERYWHERE = {"command_palette", "help", "next_theme", "suspend_process", "leave"}


@pytest.mark.parametrize("place", actions.TABLE)
def test_no_key_means_two_things_in_a_place(place: str) -> None:
    for phase in actions.phases(place):
        acts = [act for act in actions.live(place, phase) if act.reachable(phase)]
        counts = Counter(key for act in acts for key in act.key_list())
        assert [key for key, times in counts.items() if times > 1] == [], phase


@pytest.mark.parametrize(
    "act", [act for place in actions.TABLE for act in actions.of_place(place)], ids=lambda act: act.id
)
def test_every_action_has_key_help_and_a_living_phase(act: actions.Act) -> None:
    assert act.key_list()
    assert act.help.endswith(".")
    assert act.label or act.help
    assert all(phase in actions.phases(act.place) for phase in act.when)


def test_the_contract_of_the_drill_keys_holds() -> None:
    wanted = {
        "space": {"reveal", "look", "tick", "more"}, "u": {"undo"}, "b": {"bury"}, "s": {"suspend"},
        "f": {"flag"}, "e": {"exercise"}, "i": {"facts"}, "o": {"source"}, "slash": {"search"}, "q": {"back"},
        "escape": {"back", "leave_field"},
    }  # fmt: skip
    for key, names in wanted.items():
        found = {act.action for act in actions.of_place("drill") if key in act.key_list()}
        assert found == names, key
    contract = {
        "ctrl+r": "grade",
        "ctrl+o": "edit",
        "ctrl+t": "hint",
        "f2": "show('prompt')",
        "f3": "show('code')",
        "f4": "show('verdict')",
    }
    for key, action in contract.items():
        assert any(act.action == action and key in act.key_list() for act in actions.of_place("exercise"))


@pytest.mark.parametrize("place", WALK)
async def test_each_screen_binds_and_offers_what_the_table_says(app: App, place: str) -> None:
    running = app(place, **OPTIONS.get(place, {}))
    async with running.run_test() as pilot:
        await pilot.pause()
        screen = running.screen
        assert screen.place == place
        bound = {binding.action for _, binding in screen._bindings}
        for act in actions.of_place(place):
            name = act.action.partition("(")[0]
            assert callable(getattr(screen, f"action_{name}", None)), act.id
            assert act.action in bound, act.id
        # every method that acts is in the table: no key, click or palette entry goes round it
        classes = [cls for cls in type(screen).__mro__ if cls.__module__.startswith("quizapp.tui.screens.")]
        own = {
            name.removeprefix("action_")
            for cls in classes
            if cls.__module__ != Place.__module__
            for name in vars(cls)
            if name.startswith("action_")
        }
        named = {act.action.partition("(")[0] for act in actions.of_place(place)}
        assert own - named <= CLICKED.get(place, set()), own - named
        for act in actions.of_place("app"):
            assert callable(getattr(running, f"action_{act.action}")), act.id
        offered = [entry.name for entry in QuizCommands(screen).entries()]
        live = [act for act in actions.live(place, screen.phase) if act.action != "command_palette"]
        assert len([name for name in offered if not name.startswith(("Go:", "Exercise: open"))]) == len(live)
        helped = {sentence for _, sentence, _ in help_lines(place, screen.phase)}
        assert {act.help for act in actions.live(place, screen.phase)} <= helped


@pytest.mark.parametrize("place", WALK)
async def test_help_opens_over_each_screen(app: App, place: str) -> None:
    running = app(place, **OPTIONS.get(place, {}))
    async with running.run_test() as pilot:
        await pilot.press("f1")
        assert type(running.screen).__name__ == "HelpScreen"
        await pilot.press("escape")
        assert running.screen.place == place


async def test_a_long_help_turns_its_pages(app: App) -> None:
    running = app("drill")
    async with running.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        scroll = running.screen.query_one(VerticalScroll)
        await until(pilot, lambda: scroll.max_scroll_y > 0)
        await pilot.press("pagedown")
        await until(pilot, lambda: scroll.scroll_y > 1)
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: scroll.scroll_y == 0)


async def test_ctrl_c_says_how_to_leave_and_leaves_nothing(app: App) -> None:
    running = app("home")
    async with running.run_test() as pilot:
        await pilot.press("ctrl+c")
        assert [note.message for note in running._notifications] == [
            "ctrl+q leaves the program; every answer is on disk."
        ]
        assert running.screen.place == "home"


@pytest.mark.parametrize("place", [place for place in PLACES if place != "tour"])
async def test_no_key_acts_before_the_data_is_open(
    monkeypatch: pytest.MonkeyPatch, home: Path, place: str
) -> None:
    monkeypatch.setattr("quizapp.tui.startup.begin", lambda _: None)
    startup.mark_tour_seen()
    running = QuizApp(place, **OPTIONS.get(place, {}))
    async with running.run_test() as pilot:
        for act in actions.of_place(place):
            if place != "home" or act.action not in PLACES:
                await pilot.press(*(key for key in act.key_list() if key not in {"q", "escape"}))
        await pilot.pause()
        assert running.return_code in {None, 0}
        assert running.screen.place == place


async def test_palette_runs_an_action(app: App) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p", *"drill: reveal")
        await until(
            pilot, lambda: "Show the answer." in str(running.export_screenshot()).replace("&#160;", " ")
        )
        await pilot.press("enter")
        await until(pilot, lambda: getattr(running.screen, "phase", "") in actions.ANSWER)


async def test_the_key_bar_is_clickable(app: App) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.click("KeyBar", offset=(3, 0))
        await pilot.pause()
        assert running.screen.phase in actions.ANSWER


async def test_a_users_own_key_replaces_the_tables(app: App, study) -> None:
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.pause()
        try:
            running.set_keymap(actions.override({"drill.bury": "z"}))
            first = running.screen.card.id
            await pilot.press("z")
            assert study.card(first).buried
            assert any(keys == "z" for keys, *_ in help_lines("drill", "recall"))
        finally:
            actions.override({})


def test_a_key_for_an_action_that_no_screen_has_is_named() -> None:
    assert actions.unknown(["drill.bury", "mockrun.answer", "mockrun.nothing", "nowhere.bury"]) == [
        "mockrun.nothing",
        "nowhere.bury",
    ]


def test_a_key_that_browsers_keep_gets_company() -> None:
    keys = actions.browser_keys({"exercise.hint": "ctrl+t, f5", "drill.undo": "z"})
    assert keys["exercise.hint"] == "alt+t,ctrl+t, f5"
    assert keys["drill.undo"] == "z"
    assert keys["drill.dont_know"] == "0,alt+n,ctrl+n"
    assert "exercise.grade" not in keys
    try:
        actions.override(keys)
        assert actions.name_keys("ctrl+n puts aside, ctrl+r freezes.") == "alt+n puts aside, ctrl+r freezes."
    finally:
        actions.override({})
    assert actions.name_keys("ctrl+n puts aside.") == "ctrl+n puts aside."


def test_no_binding_stands_outside_the_table() -> None:
    for place in actions.TABLE:
        assert all(isinstance(binding, Binding) and binding.id for binding in actions.bindings(place))
    assert {act.action for act in actions.of_place("app")} == EVERYWHERE


@pytest.mark.parametrize("place", [place for place in actions.TABLE if place != "app"])
def test_help_or_the_palette_is_offered_to_the_mouse_in_sixty_columns(place: str) -> None:
    """Both hold every action; where the help has no key, closing brings back a screen that offers it."""
    for phase in actions.phases(place):
        shown = [act for act in actions.live(place, phase) if act.rank and act.label and act.reachable(phase)]
        best = sorted(shown, key=lambda act: -act.rank)
        width = 0
        fitting = []
        for act in best:
            width += len(actions.display(act.key_for(phase))) + 1 + len(act.label) + 2
            if width <= 60:
                fitting.append(act.action)
        assert {"help", "command_palette"} & set(fitting) or place == "help", (place, phase)


@pytest.mark.parametrize("place", WALK)
async def test_every_action_that_is_possible_can_be_clicked_in_the_help(app: App, place: str) -> None:
    running = app(place, **OPTIONS.get(place, {}))
    async with running.run_test(size=(60, 20)) as pilot:
        await opened(pilot)
        phase = running.screen.phase
        below = running.screen
        wanted = {act.id for act in actions.live(place, phase) if act.place == "app" or below.offers(act)}
        await pilot.press("f1")
        table = running.screen.query_one(HelpTable)
        clicks = {
            number
            for line in table.lines(56)
            for span in line.spans
            if hasattr(span.style, "meta")
            for number in [int(str(span.style.meta.get("@click", "run(-1)")).split("(")[1].rstrip(")"))]
            if number >= 0
        }
        assert {acts(place)[number].id for number in clicks} == wanted


async def test_a_click_on_a_line_of_the_help_does_what_it_says(app: App, study) -> None:
    running = app("drill")
    async with running.run_test(size=(80, 50)) as pilot:
        await pilot.pause()
        if running.focused is not None:
            await pilot.press("escape")
        card = running.screen.card.id
        await pilot.press("f1")
        await pilot.pause()
        table = running.screen.query_one(HelpTable)
        rows = [line.plain for line in table.lines(table.content_size.width)]
        row = next(number for number, line in enumerate(rows) if "Flag the card" in line)
        await pilot.click(HelpTable, offset=(30, row))
        await pilot.pause()
        assert running.screen.place == "drill"
        assert study.card(card).flagged
