"""A small dialog for the steps and the seed of a run."""

import re
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from quizapp.incidents.live.live_work import LiveTask, RunCommand
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.base import QuizScreen

_NUMBERS = re.compile(r"\s*(\d{1,6})(?:[\s,;]+(?:seed\s*)?(\d{1,9}))?\s*")
MALFORMED = "Type the steps and, if you want another one, the seed: 12 or 12 8."


def read_command(text: str, seed: int) -> RunCommand | None:
    """The steps and the seed in a text such as ``12 8``; ``seed`` if it has only steps."""
    match = _NUMBERS.fullmatch(text)
    return None if match is None else RunCommand(int(match[1]), int(match[2] or seed))


class CommandDialog(ModalScreen[RunCommand | None], QuizScreen[RunCommand | None]):
    """Asks for steps and seed in one field; escape returns None. ``priced`` shows what the run costs."""

    BINDINGS: ClassVar[list[object]] = [  # type: ignore[assignment]
        Binding("escape", "dismiss(None)", "cancel", show=False),
        Binding("ctrl+q", "app.leave", "quit", show=False),
    ]
    DEFAULT_CSS = """
    CommandDialog { align: center middle; }
    CommandDialog > Vertical { width: 56; max-width: 90%; height: auto; background: $surface; }
    CommandDialog Static { width: 100%; }
    """

    def __init__(self, title: str, task: LiveTask, before: RunCommand, *, priced: bool) -> None:
        super().__init__()
        self._title = title
        self._live_task = task
        self._before = before
        self._priced = priced

    def compose(self) -> ComposeResult:
        """The field, and what it means."""
        with Vertical(classes="box") as box:
            box.border_title = self._title
            yield Input(f"{self._before.steps} {self._before.seed}", id="command", compact=True)
            yield Static("", id="meaning", markup=False)

    def on_mount(self) -> None:
        """Type over what was run before."""
        field = self.query_one(Input)
        field.focus()
        field.action_select_all()

    def _command(self) -> RunCommand | None:
        return read_command(self.query_one(Input).value, self._before.seed)

    def on_input_changed(self) -> None:
        """Say what the run would be."""
        command = self._command()
        text = MALFORMED
        if command is not None:
            price = f"; it costs {self._live_task.price_of(command.steps)} s" if self._priced else ""
            whole = f" of {self._live_task.steps}" if command.steps < self._live_task.steps else ""
            text = f"{command.steps}{whole} steps with seed {command.seed}{price}. Enter takes it."
        self.query_one("#meaning", Static).update(plain(text, "$text-muted"))

    def on_input_submitted(self) -> None:
        """Return the command once; a second key in a burst may come after the dialog has closed."""
        command = self._command()
        if command is not None and self.is_active:
            self.dismiss(command)
