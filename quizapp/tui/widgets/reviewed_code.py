"""Code to review: colored, numbered, with a cursor and marks on lines."""

from collections.abc import Collection

from textual.content import Content

from quizapp.tui.rendering.highlight import highlight
from quizapp.tui.rendering.layout import fold_code
from quizapp.tui.rendering.text import link
from quizapp.tui.widgets.lines import Lines
from quizapp.util.sanitize import escape_controls


class ReviewedCode(Lines):
    """Shows a source; ``cursor`` is a line from 1, ``marked`` are the lines that were pointed at."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.cursor = 1
        self._source: list[Content] = []
        self._marked: frozenset[int] = frozenset()
        self._has_cursor = False

    def show(self, source: str, marked: Collection[int], *, has_cursor: bool) -> None:
        """Show a source and what is marked in it. ``has_cursor`` draws the cursor and lets clicks point."""
        self._source = highlight(escape_controls(source.rstrip("\n"))).split("\n", allow_blank=True)
        self._marked = frozenset(marked)
        self._has_cursor = has_cursor
        self.cursor = min(max(1, self.cursor), max(1, len(self._source)))
        self.changed()

    def move(self, step: int) -> None:
        """Move the cursor by lines."""
        self.cursor = min(max(1, self.cursor + step), max(1, len(self._source)))
        self.changed()

    def rows_of(self, line: int, width: int) -> range:
        """The rows on which a line is drawn at a width."""
        room = max(8, width) - self._gutter()
        rows = [len(fold_code(text, room)) for text in self._source[:line]]
        return range(sum(rows[:-1]), sum(rows)) if rows else range(1)

    def first_line_from(self, row: int, width: int) -> int:
        """The first line that begins at a row or below it, at a width."""
        lines = range(1, len(self._source) + 1)
        return next((line for line in lines if self.rows_of(line, width).start >= row), max(1, len(lines)))

    def _gutter(self) -> int:
        return len(str(max(1, len(self._source)))) + 3

    def lines(self, width: int) -> list[Content]:
        """Every line behind its number; long ones in pieces."""
        digits = self._gutter() - 3
        rows: list[Content] = []
        for number, text in enumerate(self._source, 1):
            here = self._has_cursor and number == self.cursor
            marked = number in self._marked
            sign = "●" if marked else "›" if here else " "
            style = "bold $error" if marked else "bold $primary" if here else "$text-disabled"
            head = Content.styled(f"{sign} {number:>{digits}} ", style)
            if self._has_cursor:
                head = link(head, f"screen.at({number})")
            for index, piece in enumerate(fold_code(text, width - self._gutter())):
                row = (Content(" " * self._gutter()) if index else head).append(piece)
                rows.append(
                    row.pad_right(max(0, width - row.cell_length)).stylize("reverse") if here else row
                )
        return rows
