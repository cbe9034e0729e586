"""Pictures of the main screens: fixed time, seed, theme and size. Look at one before updating it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from quizapp.judge.verdict import TestResult, Verdict
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import CardFilter
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.exercise.exercise_screen import ExerciseScreen
from tests.tui.waiting import settled

pytestmark = pytest.mark.snapshot

SIZES = [
    pytest.param((80, 24), id="80x24"),
    pytest.param((120, 40), id="120x40", marks=pytest.mark.exhaustive),
]
App = Callable[..., QuizApp]


class Judge:
    """No judge: the pictures bring their own verdict."""

    is_warm = True

    def warm(self) -> None: ...
    def stop(self) -> None: ...
    def cancel(self) -> None: ...
    def submit(self, *_: object) -> None: ...


@pytest.fixture
def history(study: Study, clock) -> Study:
    """A few weeks of reviews."""
    clock.time -= timedelta(days=30)
    for day in range(30):
        for number, question in enumerate(study.bank.questions):
            if (day + number) % 4 == 0:
                study.answer(question, Rating((day + 2 * number) % 4 + 1), seconds=20)
                clock.forward(seconds=30)
        clock.time = clock.time.replace(hour=8, minute=30, second=0) + timedelta(days=1)
    return study


def still() -> float:
    return 0.0


def pressing(*keys: str, then: Callable[[QuizApp], None] | None = None) -> Callable[[Pilot], Awaitable[None]]:
    """Press keys, then hold everything that moves."""

    async def run(pilot: Pilot) -> None:
        await pilot.pause()
        await pilot.press(*keys)
        if then is not None:
            then(pilot.app)
        await settled(pilot)
        for field in (*pilot.app.screen.query(Input), *pilot.app.screen.query(TextArea)):
            field.cursor_blink = False
        await pilot.pause()

    return run


def only(question: str) -> dict[str, Any]:
    return {"flt": CardFilter(ids=frozenset({question})), "clock": still}


@pytest.mark.parametrize("size", SIZES)
def test_home(snap_compare, app: App, history: Study, size) -> None:
    assert snap_compare(app(), terminal_size=size, run_before=pressing())


DRILLS = [
    ("warm-up", ()),
    ("warm-up", ("t", *"second moment", "ctrl+r", "down")),
    ("rate-at-step", ()),
    ("rate-at-step", ("1", "enter")),
    ("state-growth", ("1",)),
    ("step-order", ("J",)),
    ("adam-defaults", (*"0.9", "enter", *"0.99", "enter")),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("question", "keys"), DRILLS, ids=lambda value: value if isinstance(value, str) else str(len(value))
)
def test_drill(snap_compare, app: App, question: str, keys: tuple[str, ...], size) -> None:
    assert snap_compare(app("drill", **only(question)), terminal_size=size, run_before=pressing(*keys))


@pytest.mark.parametrize("size", SIZES)
def test_summary(snap_compare, app: App, size) -> None:
    running = app("drill", limit=1, **only("warm-up"))
    assert snap_compare(running, terminal_size=size, run_before=pressing("space", "1"))


def graded(running: QuizApp) -> None:
    screen = running.screen
    assert isinstance(screen, ExerciseScreen)
    tests = (
        TestResult("test_twice", 1, False, "The result is not twice the input.\n  got 1.5, expected 3.0"),
        TestResult("test_kept", 2, True),
    )
    screen.view.verdict = Verdict("double", "double.py", "cpu", "failed", tests, 0.12, 7, "T2")
    screen.grading.graded = screen.editor.text
    screen.view.changed()
    screen.panes.show("verdict")


@pytest.mark.parametrize("size", SIZES)
def test_exercise(snap_compare, app: App, size) -> None:
    running = app("exercise", slug="double", clock=still)
    running.judge = Judge()  # type: ignore[assignment]
    assert snap_compare(running, terminal_size=size, run_before=pressing("f3"))


@pytest.mark.parametrize("size", SIZES)
def test_verdict(snap_compare, app: App, size) -> None:
    running = app("exercise", slug="double", clock=still)
    running.judge = Judge()  # type: ignore[assignment]
    assert snap_compare(running, terminal_size=size, run_before=pressing(then=graded))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("place", "keys"),
    [("exercises", ()), ("browse", ("escape", "down")), ("statistics", ()),
     ("statistics", ("right", "right", "right")), ("tour", ()), ("home", ("question_mark",)),
     ("home", ("ctrl+p",))],
    ids=["exercises", "browse", "statistics", "topics", "tour", "help", "palette"],
)  # fmt: skip
def test_screen(snap_compare, app: App, history: Study, place: str, keys: tuple[str, ...], size) -> None:
    assert snap_compare(app(place), terminal_size=size, run_before=pressing(*keys))


@pytest.mark.parametrize("theme", ["light", "contrast", "ansi-dark"])
def test_revealed_card_in_other_themes(snap_compare, app: App, theme: str) -> None:
    def retheme(running: QuizApp) -> None:
        running.theme = theme

    running = app("drill", **only("warm-up"))
    assert snap_compare(running, terminal_size=(80, 24), run_before=pressing("space", "a", then=retheme))


def hide_path(running: QuizApp) -> None:
    """The settings file lies in a new folder each time."""
    running.screen.query_one("#head", Static).update("Settings")


@pytest.mark.parametrize("size", SIZES)
def test_settings(snap_compare, app: App, size) -> None:
    keys = (*["down"] * 10, "enter", *"nvim")
    assert snap_compare(app("settings"), terminal_size=size, run_before=pressing(*keys, then=hide_path))


EXTREMES = [pytest.param((60, 20), id="60x20"), pytest.param((200, 60), id="200x60")]


@pytest.mark.parametrize("size", EXTREMES)
def test_home_and_card_at_the_extremes(snap_compare, app: App, history: Study, size) -> None:
    assert snap_compare(app(), terminal_size=size, run_before=pressing())


@pytest.mark.parametrize("size", EXTREMES)
def test_revealed_card_at_the_extremes(snap_compare, app: App, size) -> None:
    assert snap_compare(
        app("drill", **only("warm-up")), terminal_size=size, run_before=pressing("space", "a")
    )


@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize("place", ["browse", "exercises", "statistics"])
def test_lists_at_the_extremes(snap_compare, app: App, history: Study, place: str, size) -> None:
    keys = ("escape",) if place == "browse" else ()
    assert snap_compare(app(place), terminal_size=size, run_before=pressing(*keys))


@pytest.mark.parametrize("size", EXTREMES)
def test_verdict_at_the_extremes(snap_compare, app: App, size) -> None:
    running = app("exercise", slug="double", clock=still)
    running.judge = Judge()  # type: ignore[assignment]
    assert snap_compare(running, terminal_size=size, run_before=pressing(then=graded))


@pytest.mark.parametrize(("place", "keys"), [("drill", ("space", "a")), ("home", ("t",)), ("exercises", ())])
def test_without_colours(
    snap_compare, app: App, monkeypatch: pytest.MonkeyPatch, place: str, keys: tuple[str, ...]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    options = only("warm-up") if place == "drill" else {}
    assert snap_compare(app(place, **options), terminal_size=(80, 24), run_before=pressing(*keys))
