"""A table that draws only the visible rows, so that ten thousand rows cost no more than ten."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from textual import events
from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions

Row = TypeVar("Row")


class Table(ScrollView, Generic[Row]):
    """Rows drawn by a function of (row, width). The screen's keys or a click move the cursor."""

    DEFAULT_CSS = """
    Table { height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    class Moved(Message):
        """The cursor has moved, or the rows have changed."""

    class Chosen(Message):
        """A row was clicked while the cursor was on it."""

    def __init__(self, draw: Callable[[Row, int], Content], empty: str, **options: Any) -> None:
        super().__init__(**options)
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self.by_hand = False
        """Whether the user moved the cursor; code that shows other rows resets it."""
        self._draw_row = draw
        self._empty = empty

    can_focus = False

    def show(self, rows: Sequence[Row], cursor: int = 0) -> None:
        """Show rows with the cursor on the one at index ``cursor``."""
        self.rows = rows
        self.cursor = max(0, min(cursor, len(rows) - 1))
        self.virtual_size = Size(1, max(1, len(rows)))
        self._keep_in_view()
        self.refresh()
        self.post_message(self.Moved())

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    def move(self, step: int) -> None:
        """Move the cursor by ``step`` rows."""
        self.move_to(self.cursor + step)

    def move_to(self, index: int) -> None:
        """Move the cursor to a row."""
        index = max(0, min(len(self.rows) - 1, index))
        if self.rows and index != self.cursor:
            self.cursor = index
            self.by_hand = True
            self._keep_in_view()
            self.refresh()
            self.post_message(self.Moved())

    def move_page(self, direction: int) -> None:
        """Move the cursor by a page."""
        self.move(direction * max(1, self.size.height - 1))

    def _keep_in_view(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """One row."""
        width = self.scrollable_content_region.width
        index = y + self.scroll_offset.y
        base = self.visual_style
        if index >= len(self.rows):
            text = self._empty if index == 0 and not self.rows else ""
            content = Content.styled(f" {text}", "$text-muted")
        else:
            content = self._draw_row(self.rows[index], width)
            if index == self.cursor:
                # Plain text in one style: the row's own colors may be unreadable on the cursor's background.
                content = Content(content.plain.ljust(width)[: len(content.plain) + width]).stylize(
                    "bold $block-cursor-foreground on $block-cursor-background"
                )
        strips = content.truncate(width).render_strips(width, 1, base, self._options())
        strip = strips[0] if strips else Strip.blank(width)
        return strip.adjust_cell_length(width, base.rich_style).apply_offsets(0, y)

    def _options(self) -> RenderOptions:
        return RenderOptions(self._style_of, cast("RulesMap", self.styles))

    def _style_of(self, style: str | Style) -> Style:
        return self._get_style(style)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row, or choose it if the cursor is there already."""
        index = event.y + self.scroll_offset.y
        if index >= len(self.rows):
            return
        if index == self.cursor:
            self.post_message(self.Chosen())
        else:
            self.move_to(index)
