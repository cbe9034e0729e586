"""The line at the head of a drill: cards done and left, time, accuracy, and labels of the card."""

from textual.content import Content
from textual.widget import Widget

from quizapp.tui.widgets.meter import meter
from quizapp.util.text import clock, percent


class SessionBar(Widget):
    """The screen updates the figures after each card and the time every second."""

    DEFAULT_CSS = "SessionBar { height: 1; dock: top; padding: 0 1; background: $panel; color: $text; }"

    def __init__(self) -> None:
        super().__init__()
        self.done = 0
        self.left = 0
        self.right = 0
        self.seconds = 0.0
        self.about: tuple[str, ...] = ()

    def show(self, done: int, right: int, left: int, about: tuple[str, ...]) -> None:
        """Show the numbers of cards answered, recalled and left, and the labels of the current card."""
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
        """As many whole labels as fit; a single label is cut if necessary."""
        labels = self.about
        while len(labels) > 1 and len(" · ".join(labels)) > room:
            labels = labels[:-1]
        return Content(" · ".join(labels)).truncate(max(0, room), ellipsis=True)
