"""The options of a choice question."""

from collections.abc import Sequence
from typing import Any

from textual.content import Content

from quizapp.bank.model import Option
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.widgets.row_list import RowList


class Choice(RowList):
    """Options in a shuffled order, chosen by number, cursor or click; with reasons after the reveal.

    ``moved`` says whether the learner has moved the cursor, which begins at the first option by itself.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.options: Sequence[Option] = ()
        self.order: Sequence[int] = ()
        self.answer: int | None = None
        self.revealed = False
        self.moved = False

    def show(self, options: Sequence[Option], order: Sequence[int]) -> None:
        """Show options; ``order`` holds their indices in display order."""
        self.options, self.order = options, order
        self.cursor, self.answer, self.revealed, self.moved = 0, None, False, False
        self.changed()

    def move(self, step: int) -> bool:
        """Move the cursor. It then names an option that the learner has chosen."""
        self.moved = True
        return super().move(step)

    def reveal(self, position: int | None) -> None:
        """Show the right option and the reasons; ``position`` is the chosen one in display order."""
        self.answer, self.revealed = position, True
        self.changed()

    def count(self) -> int:
        """How many options there are."""
        return len(self.order)

    def row(self, place: int, width: int) -> list[Content]:
        """An option, with its reason once revealed."""
        option = self.options[self.order[place]]
        here = not self.revealed and place == self.cursor
        chosen = place == self.answer
        mark, style = "▸ " if here else "  ", "bold" if here else ""
        if self.revealed:
            mark = "✓ " if option.right else ("✗ " if chosen else "  ")
            style = "$success bold" if option.right else ("$error bold" if chosen else "$text-muted")
        first = Content.assemble((mark, style or "$primary"), (f"{place + 1}  ", "$primary bold"))
        lines = hanging(first, phrase(option.text, style), width)
        if self.revealed:
            lines += hanging(Content("     "), phrase(option.why, "$text-muted"), width)
        elif place < len(self.order) - 1:
            # With their reasons the options are tall, and the explanation below has to fit on the screen.
            lines.append(Content(""))
        return lines

    def picked(self, place: int) -> None:
        """A click answers, once."""
        if not self.revealed:
            super().picked(place)
