"""The notice that time is up."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static


class TimeUp(ModalScreen[None]):
    """Shows ``text`` over the next question for a moment, and closes by itself.

    It swallows keys meanwhile, because a learner who is still typing means the question that was cut.
    """

    AUTO_FOCUS = ""
    OPEN_S = 1.5
    DEFAULT_CSS = """
    TimeUp { align: center middle; }
    TimeUp > Vertical { width: auto; max-width: 90%; height: auto; background: $surface; }
    TimeUp Static { width: auto; max-width: 100%; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """One line in a box."""
        with Vertical(classes="box") as box:
            box.border_title = "Time is up"
            yield Static(self._text, markup=False)

    def on_mount(self) -> None:
        """Start to count."""
        self.set_timer(self.OPEN_S, self._close)

    def _close(self) -> None:
        if self.is_current:
            self.dismiss()
        elif self.is_attached:  # another dialog was opened over it
            self.set_timer(self.OPEN_S, self._close)

    def on_key(self, event: events.Key) -> None:
        """Drop the key."""
        event.stop()
