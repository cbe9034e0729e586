"""The line at the head of a drill: cards done and left, time, accuracy, and labels of the card."""

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.widget import Widget

from quizapp.tui.widgets.meter import meter
from quizapp.util.text import clock, percent

_KINDS = ("new", "learning", "due")
_WORDS = 76  # cells from which the kinds of cards are named


class SessionBar(Widget):
    """The screen updates the figures after each card and the time every second."""

    DEFAULT_CSS = "SessionBar { height: 1; dock: top; padding: 0 1; background: $panel; color: $text; }"

    def __init__(self) -> None:
        super().__init__()
        self.done = 0
        self.left: Sequence[int] = (0,)
        self.right = 0
        self.seconds = 0.0
        self.about: tuple[str, ...] = ()
        self._seconds_now: Callable[[], float] | None = None
        self._running = False

    def follow(self, seconds: Callable[[], float]) -> None:
        """Show the time that ``seconds`` returns, each second, while cards are shown."""
        self._seconds_now = seconds
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        if self._running and self._seconds_now is not None:
            self.seconds = self._seconds_now()
        self.refresh()

    def stop(self, done: int, right: int) -> None:
        """Show that no card is left; the time stands still."""
        self._running = False
        self.done, self.left, self.right, self.about = done, (0,), right, ()
        self.refresh()

    def show(self, done: int, right: int, left: Sequence[int], about: tuple[str, ...]) -> None:
        """Show the numbers of cards answered, recalled and left, and the labels of the current card.

        ``left`` are new cards, cards in learning and reviews, or a single number.
        """
        self.done, self.right, self.left, self.about = done, right, left, about
        self._running = True
        self._tick()

    def render(self) -> Content:
        """Progress and figures at the left, the card's labels at the right."""
        width = self.content_size.width
        total = self.done + sum(self.left)
        bar = meter([(self.done / total if total else 0, "$success", "█")], 10 if width >= 70 else 5)
        figures = f" {self.done} done  {self._left_text(width)}  time {clock(self.seconds)}"
        if self.done:
            recalled = (
                f"{percent(self.right / self.done)} recalled" if width >= 100 else f"{self.right} right"
            )
            figures += f"  {recalled}"
        left = bar.append(figures)
        room = width - left.cell_length - 2
        about = self._about(room) if room > 8 else Content("")
        gap = max(0, width - left.cell_length - about.cell_length)
        return left.append(" " * gap).append(about.stylize("$text-muted"))

    def _left_text(self, width: int) -> str:
        """What is left, by kind where there is room for words."""
        if len(self.left) == 1 or width < _WORDS or not any(self.left):
            return f"{sum(self.left)} left"
        kinds = zip(self.left, _KINDS, strict=True)
        return f"{', '.join(f'{number} {kind}' for number, kind in kinds if number)} left"

    def _about(self, room: int) -> Content:
        """As many whole labels as fit; a single label is cut if necessary."""
        labels = self.about
        while len(labels) > 1 and len(" · ".join(labels)) > room:
            labels = labels[:-1]
        return Content(" · ".join(labels)).truncate(max(0, room), ellipsis=True)
