"""The options of a choice question."""

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.content import Content
from textual.message import Message

from quizapp.bank.model import Option
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.widgets.lines import Lines


class Choice(Lines):
    """Options in drawn order, chosen by number, cursor or click; reasons after the reveal."""

    class Picked(Message):
        """An option was clicked."""

        def __init__(self, position: int) -> None:
            super().__init__()
            self.position = position

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.options: Sequence[Option] = ()
        self.order: Sequence[int] = ()
        self.cursor = 0
        self.picked: int | None = None
        self.revealed = False

    def show(self, options: Sequence[Option], order: Sequence[int]) -> None:
        """Show options in a display order."""
        self.options, self.order = options, order
        self.cursor, self.picked, self.revealed = 0, None, False
        self.changed()

    def reveal(self, position: int | None) -> None:
        """Show which option is right, and why each is right or wrong."""
        self.picked, self.revealed = position, True
        self.changed()

    def move(self, step: int) -> None:
        """Move the cursor."""
        if self.order:
            self.cursor = max(0, min(len(self.order) - 1, self.cursor + step))
            self.changed()

    def lines(self, width: int) -> list[Content]:
        """Each option, with its reason once revealed."""
        lines: list[Content] = []
        for position in range(len(self.order)):
            lines += self._option(position, width)
        return lines

    def _option(self, position: int, width: int) -> list[Content]:
        option = self.options[self.order[position]]
        here = not self.revealed and position == self.cursor
        chosen = position == self.picked
        mark, style = "▸ " if here else "  ", "bold" if here else ""
        if self.revealed:
            mark = "✓ " if option.right else ("✗ " if chosen else "  ")
            style = "$success bold" if option.right else ("$error bold" if chosen else "$text-muted")
        first = Content.assemble((mark, style or "$primary"), (f"{position + 1}  ", "$primary bold"))
        lines = hanging(first, phrase(option.text, style), width)
        if self.revealed:
            lines += hanging(Content("     "), phrase(option.why, "$text-muted"), width)
        if position < len(self.order) - 1:
            lines.append(Content(""))
        return lines

    def on_click(self, event: events.Click) -> None:
        """A click picks an option."""
        line = event.y
        for position in range(len(self.order)):
            height = len(self._option(position, max(8, self.content_size.width)))
            if line < height:
                if not self.revealed:
                    self.post_message(self.Picked(position))
                return
            line -= height
