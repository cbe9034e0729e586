"""Time is up: for a moment the keys of whoever is still typing reach nothing behind it."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static


class TimeUp(ModalScreen[None]):
    """Says ``text`` over what has opened meanwhile, and goes by itself."""

    AUTO_FOCUS = ""
    STAYS = 1.5
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
        """Begin to count."""
        self.set_timer(self.STAYS, self._go)

    def _go(self) -> None:
        if self.is_current:
            self.dismiss()
        elif self.is_attached:  # another dialog was opened over it
            self.set_timer(self.STAYS, self._go)

    def on_key(self, event: events.Key) -> None:
        """Typed for what was cut: it belongs to nothing any more."""
        event.stop()
