"""The base of every list with a cursor whose rows may take several lines."""

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from quizapp.tui.widgets.lines import Lines

CONTEXT = 2
"""Lines that stay visible above and below the cursor's row, where there is room."""


class RowList(Lines):
    """Rows with a cursor. Subclasses return the number of rows and the lines of each."""

    cursor = 0

    class Picked(Message):
        """A row was clicked. ``control`` is the list, so that ``@on`` can tell lists apart."""

        def __init__(self, rows: "RowList", place: int) -> None:
            super().__init__()
            self.rows = rows
            self.place = place

        @property
        def control(self) -> "RowList":
            """The list that was clicked."""
            return self.rows

    def count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def row(self, place: int, width: int) -> list[Content]:
        """The lines of one row at a width."""
        raise NotImplementedError

    def heading(self, place: int, width: int) -> list[Content]:
        """Lines above a row that belong to no row; a click on them does nothing."""
        del place, width
        return []

    def footer(self, width: int) -> list[Content]:
        """Lines below all rows."""
        del width
        return []

    def picked(self, place: int) -> None:
        """Handle a click on a row by telling the screen; a subclass may handle it by itself."""
        self.post_message(self.Picked(self, place))

    # the cursor

    def move(self, step: int) -> bool:
        """Move the cursor, stopping at the first and the last row; False if it stays."""
        before = self.cursor
        self.cursor = max(0, min(self.count() - 1, self.cursor + step))
        self.changed()
        return self.cursor != before

    def keep_cursor(self) -> None:
        """Put the cursor on an existing row after their number may have changed."""
        self.cursor = min(self.cursor, max(0, self.count() - 1))

    def move_or_scroll(self, step: int, scroll: Widget) -> None:
        """Move the cursor and keep it in view; at either end, scroll instead."""
        if self.move(step):
            self.keep_cursor_in_view(scroll)
        else:
            scroll.scroll_relative(y=step, animate=False)

    def keep_cursor_in_view(self, scroll: Widget) -> None:
        """Scroll to the row under the cursor."""
        keep_in_view(scroll, self, *self.span())

    def cursor_in_view(self, scroll: Widget) -> bool:
        """Whether the first line of the cursor's row is visible."""
        line = self.span()[0] + _offset(scroll, self)
        return 0 <= line - scroll.scroll_target_y < scroll.size.height

    def span(self) -> tuple[int, int]:
        """The first and the last line of the row under the cursor, including its heading."""
        first = sum(self._height(place) for place in range(self.cursor))
        return first, first + max(1, self._height(self.cursor) if self.count() else 1) - 1

    # layout and clicks

    def _width(self) -> int:
        return max(8, self.content_size.width)

    def _height(self, place: int) -> int:
        width = self._width()
        return len(self.heading(place, width)) + len(self.row(place, width))

    def lines(self, width: int) -> list[Content]:
        """All rows with their headings, then the footer."""
        lines: list[Content] = []
        for place in range(self.count()):
            lines += [*self.heading(place, width), *self.row(place, width)]
        return lines + self.footer(width)

    def row_at(self, line: int) -> int | None:
        """The row at a line of the widget; None on a heading and below the last row."""
        width = self._width()
        for place in range(self.count()):
            line -= len(self.heading(place, width))
            if line < 0:
                return None
            line -= len(self.row(place, width))
            if line < 0:
                return place
        return None

    def on_click(self, event: events.Click) -> None:
        """Pick the clicked row, unless the click hits a link."""
        if event.style.meta.get("@click"):
            return
        place = self.row_at(event.y)
        if place is not None:
            self.picked(place)


def keep_in_view(scroll: Widget, widget: Widget, first: int, last: int) -> None:
    """Scroll just enough to show the lines ``first`` to ``last`` of a widget inside ``scroll``.

    If not all of them fit, the first ones are shown.
    """
    offset = _offset(scroll, widget)
    first, last, height = first + offset, last + offset, scroll.size.height
    context = min(CONTEXT, max(0, (height - (last - first + 1)) // 2))
    top = scroll.scroll_target_y
    if first - context < top:
        scroll.scroll_to(y=max(0, first - context), animate=False)
    elif last + context >= top + height:
        scroll.scroll_to(y=min(first, last + context - height + 1), animate=False)


def _offset(scroll: Widget, widget: Widget) -> int:
    """The line of ``scroll``'s content at which the content of ``widget`` begins.

    Computed from the layout instead of the last drawn positions, because a burst of keys can scroll several
    times before anything is drawn.
    """
    offset = 0
    while widget is not scroll:
        offset += widget.virtual_region.y + widget.gutter.top
        assert isinstance(widget.parent, Widget)
        widget = widget.parent
    return offset
