"""The command palette: the actions of the current screen, all other screens, and all exercises."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual.binding import Binding, BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from quizapp.tui import actions
from quizapp.tui.screens.base import place_and_phase
from quizapp.util.sanitize import one_line

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp

GOES = (
    ("home", "Go: home", "What is left today, and whether you are on track."),
    ("drill", "Go: drill", "Drill what is due."),
    ("exercises", "Go: exercises", "The list of exercises."),
    ("review", "Go: code review", "Plausible code to judge, prove and fix against the clock."),
    ("mock", "Go: mock interview", "A timed mock interview."),
    ("incident", "Go: broken run", "A broken training run to diagnose against the clock."),
    ("mockpast", "Go: interviews so far", "Marks, dimensions and topics over time."),
    ("browse", "Go: browse", "All questions, with a filter."),
    ("statistics", "Go: statistics", "Retention, forecast, progress."),
    ("settings", "Go: settings", "Change how the program behaves."),
    ("tour", "Go: tour", "A short tour of the program."),
)
"""The screens that can be opened from anywhere."""


def _literal(text: str) -> str:
    """Escape brackets, which Textual would read as markup."""
    return one_line(text).replace("[", "\\[")


class Entry(NamedTuple):
    """One line of the palette."""

    name: str
    help: str
    run: Any


class Palette(CommandPalette):
    """Textual's palette, without the ``KeyError`` that it raises if paged before its first frame."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "app.leave", show=False)]

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


class QuizCommands(Provider):
    """Offers the actions that the table allows in the current phase."""

    @property
    def quiz(self) -> "QuizApp":
        """The app, with its own type."""
        return cast("QuizApp", self.app)

    def entries(self) -> Iterator[Entry]:
        """All entries for the screen below the palette."""
        place, phase = place_and_phase(self.screen)
        # Actions that the key bar never shows, such as scrolling, come last.
        for act in sorted(actions.live(place, phase), key=lambda act: not act.rank):
            if act.action == "command_palette":
                continue
            name = f"{actions.TABLE[act.place].title}: {act.label or act.help.rstrip('.').lower()}"
            pressed = ", ".join(map(actions.display, act.key_list()))
            yield Entry(name, f"{act.help} ({pressed})", partial(self._act, act))
        for target, name, text in GOES:
            if place not in {target, "home"}:  # home's own actions go to the same screens
                yield Entry(name, text, partial(self.quiz.go, target))
        if self.quiz.ready:
            for exercise in self.quiz.bank.exercises.values():
                run = partial(self.quiz.go, "exercise", slug=exercise.slug)
                name = _literal(f"Exercise: open {exercise.title}")
                yield Entry(name, _literal(f"{exercise.level}, {exercise.topic}"), run)

    async def _act(self, act: actions.Act) -> None:
        await self.quiz.run_action(act.action, self.quiz if act.place == "app" else self.screen)

    async def discover(self) -> Hits:
        """All entries, as long as nothing is typed."""
        for entry in self.entries():
            yield DiscoveryHit(entry.name, entry.run, help=entry.help)

    async def search(self, query: str) -> Hits:
        """The entries that match the typed words."""
        matcher = self.matcher(query)
        for entry in self.entries():
            score = matcher.match(entry.name)
            if score > 0:
                yield Hit(score, matcher.highlight(entry.name), entry.run, help=entry.help)
