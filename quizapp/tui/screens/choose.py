"""A small dialog to choose one of a list."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from quizapp.tui.rendering.layout import wrap
from quizapp.tui.screens.base import QuizScreen
from quizapp.util.sanitize import one_line

_KEYS = Content.assemble(("enter", "bold $primary"), " choose  ", ("esc", "bold $primary"), " cancel")


_NARROWEST, _BORDER = 40, 6


class Choose(ModalScreen[str | None], QuizScreen[str | None]):
    """Asks for one of ``entries``, pairs of a value and its text or content; escape returns None."""

    BINDINGS: ClassVar[list[object]] = [  # type: ignore[assignment]
        Binding("escape,q", "dismiss(None)", "cancel", show=False),
        Binding("j", "step(1)", "down", show=False),
        Binding("k", "step(-1)", "up", show=False),
        Binding("ctrl+q", "app.leave", "quit", show=False),
    ]
    CSS_PATH = "styles/choose.tcss"

    def __init__(self, title: str, entries: Sequence[tuple[str, str | Content]], chosen: str = "") -> None:
        super().__init__()
        self._title = title
        self._entries = entries
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        """The question and the list."""
        with Vertical(classes="box") as box:
            title = box.border_title = one_line(self._title)
            # A question may be longer than its answers; a border as wide as they are would cut it off.
            box.styles.min_width = max(_NARROWEST, cell_len(title) + _BORDER)
            yield OptionList(*(Option(_laid_out(text, self._room())) for _, text in self._entries))
            yield Static(_KEYS, classes="muted", markup=False)

    def on_mount(self) -> None:
        """Start at the current value."""
        values = [value for value, _ in self._entries]
        choices = self.query_one(OptionList)
        choices.highlighted = values.index(self._chosen) if self._chosen in values else 0
        choices.focus()

    def action_step(self, step: int) -> None:
        """Move the cursor, as the arrow keys do."""
        choices = self.query_one(OptionList)
        (choices.action_cursor_down if step > 0 else choices.action_cursor_up)()

    def on_resize(self) -> None:
        """Wrap the entries again."""
        choices = self.query_one(OptionList)
        for place, (_, text) in enumerate(self._entries):
            choices.replace_option_prompt_at_index(place, _laid_out(text, self._room()))

    def _room(self) -> int:
        """The cells of an entry: the box's widest less borders and scrollbar (see the style sheet)."""
        return int(0.9 * self.app.size.width) - 6

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the value once; a second key in a burst may come after the dialog has closed."""
        if self.is_active:
            self.dismiss(self._entries[event.option_index][0])


def _laid_out(text: str | Content, width: int) -> Content:
    """An entry, wrapped with an indent so that its second line does not look like another entry."""
    line = Content(one_line(text)) if isinstance(text, str) else text
    return line if line.cell_length <= width else Content("\n  ").join(wrap(line, max(8, width - 2)))
