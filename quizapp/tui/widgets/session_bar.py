"""The line at the head of a drill: done, left, time, accuracy, and what card this is."""

from textual.content import Content
from textual.widget import Widget

from quizapp.tui.widgets.meter import meter
from quizapp.util.text import clock, percent


class SessionBar(Widget):
    """Set by the screen after each card; the time moves by itself."""

    DEFAULT_CSS = "SessionBar { height: 1; dock: top; padding: 0 1; background: $panel; color: $text; }"

    def __init__(self) -> None:
        super().__init__()
        self.done = 0
        self.left = 0
        self.right = 0
        self.seconds = 0.0
        self.about: tuple[str, ...] = ()

    def show(self, done: int, right: int, left: int, about: tuple[str, ...]) -> None:
        """Show how many cards were answered, recalled and are left, and the labels of the one on screen."""
        self.done, self.right, self.left, self.about = done, right, left, about
        self.refresh()

    def render(self) -> Content:
        """Progress and figures at the left, the card's labels at the right."""
        width = self.content_size.width
        total = self.done + self.left
        bar = meter([(self.done / total if total else 0, "$success", "█")], 10 if width >= 70 else 5)
        figures = f" {self.done} done  {self.left} left  {clock(self.seconds)}"
        if self.done:
            figures += f"  {percent(self.right / self.done)}" + " recalled" * (width >= 100)
        left = bar.append(figures)
        room = width - left.cell_length - 2
        about = self._about(room) if room > 8 else Content("")
        gap = max(0, width - left.cell_length - about.cell_length)
        return left.append(" " * gap).append(about.stylize("$text-muted"))

    def _about(self, room: int) -> Content:
        """As many of the labels as fit whole; the first is cut before none is shown."""
        labels = self.about
        while len(labels) > 1 and len(" · ".join(labels)) > room:
            labels = labels[:-1]
        return Content(" · ".join(labels)).truncate(max(0, room), ellipsis=True)
