"""A short list on a page to pick one entry from."""

from collections.abc import Sequence

from textual.content import Content

from quizapp.tui.rendering.layout import hanging
from quizapp.tui.widgets.row_list import RowList


class PickList(RowList):
    """Entries are pairs of a value and its text; the one under the cursor is picked."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: Sequence[tuple[str, str]] = ()

    def show(self, entries: Sequence[tuple[str, str]], picked: str) -> None:
        """Show entries with the cursor at a value."""
        self._entries = entries
        values = [value for value, _ in entries]
        self.cursor = values.index(picked) if picked in values else 0
        self.changed()

    @property
    def value(self) -> str:
        """The value under the cursor; empty without entries."""
        return self._entries[self.cursor][0] if self._entries else ""

    def count(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def row(self, place: int, width: int) -> list[Content]:
        """One entry."""
        here = place == self.cursor
        first = Content.styled("▸ " if here else "  ", "$primary bold")
        return hanging(first, Content.styled(self._entries[place][1], "bold" if here else ""), width)
