"""A base for widgets that draw a list of lines laid out by width."""

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget


class Lines(Widget):
    """Subclasses give the lines for a width; height and drawing follow."""

    DEFAULT_CSS = "Lines { height: auto; width: 1fr; }"

    auto_links = False

    def lines(self, width: int) -> list[Content]:
        """The lines at a width."""
        raise NotImplementedError

    def changed(self) -> None:
        """Lay out and draw again."""
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines."""
        del container, viewport
        return max(1, len(self.lines(max(8, width))))

    def render(self) -> Content:
        """All lines."""
        return Content("\n").join(self.lines(max(8, self.content_size.width)))


class Rows(Lines):
    """Rows of one or more lines with a cursor; subclasses give their number and the lines of each."""

    cursor = 0

    class Picked(Message):
        """A row was clicked."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def row(self, place: int, width: int) -> list[Content]:
        """The lines of one row at a width."""
        raise NotImplementedError

    def move(self, step: int) -> None:
        """Move the cursor."""
        self.cursor = max(0, min(self.count() - 1, self.cursor + step))
        self.changed()

    def keep_cursor(self) -> None:
        """Bring the cursor back among the rows, whose number may have changed."""
        self.cursor = min(self.cursor, max(0, self.count() - 1))

    def span(self) -> tuple[int, int]:
        """First and last line on the screen of the row under the cursor."""
        width = max(8, self.content_size.width)
        first = sum(len(self.row(place, width)) for place in range(self.cursor))
        return first, first + len(self.row(self.cursor, width)) - 1 if self.count() else first

    def lines(self, width: int) -> list[Content]:
        """All rows."""
        return [line for place in range(self.count()) for line in self.row(place, width)]

    def on_click(self, event: events.Click) -> None:
        """A click picks a row, unless it meets a link."""
        if event.style.meta.get("@click"):
            return
        at = event.y
        for place in range(self.count()):
            height = len(self.row(place, max(8, self.content_size.width)))
            if at < height:
                self.post_message(self.Picked(place))
                return
            at -= height
