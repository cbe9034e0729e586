"""Sizes, themes, and terminals without colour or Unicode."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.filter import NoColor

from quizapp.scheduling.service import Study
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from tests.tui.drawn import styled, text
from tests.tui.waiting import settled, shows, until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]


@pytest.mark.parametrize(
    "place", ["home", "drill", "exercises", "exercise", "browse", "statistics", "settings", "tour"]
)
async def test_no_screen_spills_at_sixty_columns_and_any_resize(app: App, place: str) -> None:
    running = app(place, **({"slug": "double"} if place == "exercise" else {}))
    async with running.run_test(size=(60, 20)) as pilot:
        for size in ((60, 20), (200, 60), (80, 24), (120, 40), (60, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            strips = running.screen._compositor.render_strips()
            assert {strip.cell_length for strip in strips} == {size[0]}
            bar = running.screen.query_one("KeyBar")
            assert bar.region.height == 1
            assert bar.region.bottom == size[1]


async def test_ascii_terminals_get_ascii_only(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIZAPP_ASCII", "1")
    for place in ("home", "drill", "browse", "statistics", "exercise"):
        running = app(place, **({"slug": "double"} if place == "exercise" else {}))
        async with running.run_test() as pilot:
            await pilot.pause()
            assert text(running).isascii(), place


async def test_no_color_draws_in_the_terminals_own_colours(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    running = app("drill")
    async with running.run_test() as pilot:
        await pilot.press("space")
        assert running.theme == "ansi-dark"
        assert any(isinstance(one, NoColor) for one in running._filters)
        colours = {
            colour.name
            for strip in running.screen._compositor.render_strips()
            for segment in strip
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }
        assert colours == {"default"}


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_in_terminal_colours_the_button_is_reversed_and_nothing_is_hard_to_see(
    app: App, theme: str
) -> None:
    running = app()
    async with running.run_test() as pilot:
        running.theme = theme
        await until(pilot, lambda: "Start (enter)" in styled(running, "reverse"))
        written = {
            segment.style.color.number
            for strip in running.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.color and segment.text.strip()
        }
        black, red, yellow, blue, white = 0, 1, 3, 4, 7
        unseen = {black, red, blue} if theme == "ansi-dark" else {yellow, white}
        assert written - {None}
        assert not written & unseen


async def test_themes_go_round(app: App) -> None:
    running = app()
    async with running.run_test() as pilot:
        seen = {running.theme}
        for _ in range(4):
            await pilot.press("f9")
            seen.add(running.theme)
        assert seen == {"dark", "light", "contrast", "ansi-dark", "ansi-light"}


async def test_without_colours_the_chosen_row_and_option_stand_out(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    for place, pressed, words in (
        ("home", (), {"Start"}),
        ("home", ("t",), {"0/"}),
        ("exercises", (), {"Double a tensor"}),
        ("exercise", (), {"Code"}),
        ("exercise", ("f2",), {"Task"}),
    ):
        running = app(place, **({"slug": "double"} if place == "exercise" else {}))
        async with running.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press(*pressed)
            await pilot.pause()
            told = styled(running, "reverse")
            assert {word for word in (*words, "Task", "Code") if word in told} == words, (place, pressed)


async def test_without_colours_keys_in_a_text_are_bold(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    running = app("tour")
    async with running.run_test() as pilot:
        await pilot.press("right", "enter", "enter", "enter")
        await pilot.pause()
        assert "space" in styled(running, "bold")
        assert "Say the answer aloud" not in styled(running, "bold")
        await pilot.press("ctrl+p")
        help_text = "Show what you can do here"
        await until(pilot, lambda: help_text in text(running))
        assert help_text not in styled(running, "dim")


@pytest.mark.parametrize("theme", ["dark", "ansi-dark", "ansi-light"])
async def test_what_lies_below_a_dialog_stays_in_sight(app: App, study: Study, theme: str) -> None:
    study.settings = replace(study.settings, theme=theme)
    running = app()
    async with running.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Schedules" in text(running))
        await pilot.press("t")
        await shows(pilot, "Drill which topic?", "Today")
        if theme != "dark":
            assert "quizapp" in styled(running, "dim")
            assert "cancel" not in styled(running, "dim")
            await pilot.press("escape")
            await pilot.pause()
            assert "quizapp" not in styled(running, "dim")


async def test_a_notice_said_again_stands_once(app: App) -> None:
    running = app("home")
    async with running.run_test(notifications=True) as pilot:
        for _ in range(3):
            running.say("Nothing to undo.")
            await pilot.pause()
        running.say("Something else.")
        await pilot.pause()
        toasts = [str(toast.render()) for toast in running.screen.query("Toast")]
        assert [said.strip() for said in toasts] == ["Nothing to undo.", "Something else."]


async def test_a_long_notice_stays_long_enough_to_be_read(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    lasts: dict[str, float] = {}
    notify = QuizApp.notify

    def record(self: QuizApp, message: str, **options: Any) -> None:
        lasts[message] = options["timeout"]
        notify(self, message, **options)

    monkeypatch.setattr(QuizApp, "notify", record)
    running = app()
    async with running.run_test(size=(60, 20), notifications=True) as pilot:
        await pilot.pause()
        running.say("Suspended.")
        running.say("The file cannot be written, " * 10, bad=True)
        await pilot.pause()
        short, long = lasts.values()
        assert short == 3
        assert long > 15
        await until(pilot, lambda: text(running).count("cannot") == 10)


async def test_what_stands_above_a_centred_list_stands_over_it(app: App) -> None:
    running = app("exercises")
    async with running.run_test(size=(200, 60)) as pilot:
        await pilot.press("slash", *"dou")
        await until(pilot, lambda: "Double a tensor" in text(running))
        field, table = running.screen.query_one("#filter"), running.screen.query_one("#table")
        assert (field.region.x, field.region.width) == (table.region.x, table.region.width)
        assert table.region.x > 0


async def test_an_entry_of_a_dialog_that_wraps_is_seen_to_go_on(app: App) -> None:
    long = "The schedule is stepped per batch although its numbers count epochs"
    running = app("settings")
    async with running.run_test(size=(120, 40)) as pilot:
        await running.push_screen(Choose("Which?", [("a", long), ("b", "Another")]))
        await pilot.pause()
        await shows(pilot, long)
        for columns in (60, 61):
            await pilot.resize_terminal(columns, 20)
            await settled(pilot)
            inside = [line.split("│")[1] for line in text(running).splitlines() if line.count("│") > 1]
            shown = [line.rstrip(" ▁▂▃▄▅▆▇█") for line in inside if line.strip()]
            assert [line[:3].isspace() for line in shown[:3]] == [False, True, False], shown
            assert " ".join(f"{shown[0]} {shown[1]}".split()) == long
