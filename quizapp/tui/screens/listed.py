"""A place whose rows lie in a table, with the cursor on one of them."""

from typing import Generic, TypeVar, cast

from textual.screen import Screen

from quizapp.tui.widgets.table import Table

Row = TypeVar("Row")


class Listed(Generic[Row]):
    """Mixed into a place with a table ``#table``: its keys go through the rows."""

    @property
    def _table(self) -> Table[Row]:
        return cast("Screen[None]", self).query_one("#table", Table)

    def move(self, step: int) -> None:
        """To the next row."""
        self._table.move(step)

    def action_page(self, direction: int) -> None:
        """A page up or down."""
        self._table.move_page(direction)
