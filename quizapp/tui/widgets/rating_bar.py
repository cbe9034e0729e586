"""The four ratings with their intervals, the proposed one marked."""

from collections.abc import Mapping
from typing import Any

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

_NAMES = ("Again", "Hard", "Good", "Easy")
_STYLES = ("$error", "$warning", "$success", "$primary")

MEASURE = 100
"""The width of a card's text in cells; on wider screens the bar is aligned with it."""


class RatingBar(Widget):
    """Three lines: why a rating is proposed, the names, the intervals."""

    DEFAULT_CSS = """
    RatingBar {
        height: 4; padding: 0 1; border-top: solid $box;
    }
    """

    auto_links = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._intervals: Mapping[int, str] = {}
        self._proposed = 0
        self._reason = ""

    def show(self, intervals: Mapping[int, str], proposed: int, reason: str) -> None:
        """Show interval texts by rating (1 to 4), the proposal and its reason."""
        self._intervals, self._proposed, self._reason = intervals, proposed, reason
        self.refresh()

    def render(self) -> Content:
        """The lines, each rating clickable over its whole column."""
        width = self.content_size.width
        column = min(24, (width - 3) // 4)
        indent = " " * max(0, (width - MEASURE - 1) // 2)
        reason = Content("")
        if self._reason and self._proposed:
            why = f"Proposed {_NAMES[self._proposed - 1]}: {self._reason}"
            reason = Content(why).truncate(width, ellipsis=True)
        names, intervals = [], []
        for rating, name in enumerate(_NAMES, 1):
            proposed = rating == self._proposed
            label = f"{rating} {name}" + (" ⏎" if proposed else "")
            color = _STYLES[rating - 1]
            style = "bold reverse " + color if proposed else "bold " + color
            click = Style.from_meta({"@click": f"screen.rate({rating})"})
            names.append(_cell(label, column, style, click))
            below = "reverse " + color if proposed else "$text-muted"
            intervals.append(_cell(self._intervals.get(rating, ""), column, below, click))
        gap = Content(" ")
        lines = (reason.stylize("$text-muted"), gap.join(names), gap.join(intervals))
        return Content("\n").join(Content(indent).append(line) for line in lines)


def _cell(text: str, width: int, style: str, click: Style) -> Content:
    padded = text.center(width)
    return Content.styled(padded, style).stylize(click, 0, len(padded))
