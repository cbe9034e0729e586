"""Reviews per day as a calendar with a column per week and a row per weekday."""

from collections.abc import Sequence
from datetime import date

from textual.content import Content
from textual.widget import Widget

_SHADES = ("·", "░", "▒", "▓", "█")
_STYLES = ("$text-muted", *("$success",) * 4)
_DAYS = ("Mo", "  ", "We", "  ", "Fr", "  ", "Su")


def level(count: int, most: int) -> int:
    """The shade of a day: 0 without reviews, otherwise 1 to 4 by quarters of the busiest day."""
    return 0 if count <= 0 else min(4, 1 + (count * 4 - 1) // max(1, most))


class HeatMap(Widget):
    """Shows as many whole weeks as fit. Shape and color both show the amount, for terminals without color."""

    DEFAULT_CSS = "HeatMap { height: 7; }"

    def __init__(self) -> None:
        super().__init__()
        self._days: Sequence[tuple[date, int]] = ()

    def show(self, days: Sequence[tuple[date, int]]) -> None:
        """Show (date, reviews), oldest first; the last day is today."""
        self._days = days
        self.refresh()

    def render(self) -> Content:
        """Seven lines, one per weekday."""
        weeks = max(1, (self.content_size.width - 3) // 2)
        counts = dict(self._days)
        if not counts:
            blank = " ·" * weeks
            return Content.styled("\n".join(f"{name}{blank}" for name in _DAYS), "$text-muted")
        today = max(counts)
        most = max(counts.values(), default=0)
        first = today.toordinal() - today.weekday() - 7 * (weeks - 1)  # the Monday of the leftmost week
        lines = []
        for row, name in enumerate(_DAYS):
            parts = [Content.styled(name, "$text-muted")]
            for week in range(weeks):
                ordinal = first + 7 * week + row
                shade = level(counts.get(date.fromordinal(ordinal), 0), most)
                mark = " " if ordinal > today.toordinal() else _SHADES[shade]
                parts.append(Content.styled(f" {mark}", _STYLES[shade]))
            lines.append(Content("").join(parts))
        return Content("\n").join(lines)
