"""A base for widgets that draw lines laid out for the widget's width."""

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class Lines(Widget):
    """Subclasses return the lines for a width; height and drawing follow from them."""

    DEFAULT_CSS = "Lines { height: auto; width: 1fr; }"

    auto_links = False

    def lines(self, width: int) -> list[Content]:
        """The lines at a width in cells."""
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
