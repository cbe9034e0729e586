"""Draws a curve with block characters: a few rows, the largest and the smallest value at the left."""

from collections.abc import Sequence
from itertools import pairwise
from math import log

from textual.content import Content

from quizapp.incidents.curves import Curve

ROWS = 3
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LOG_FROM = 20.0
"""From this ratio of the largest to the smallest value on the scale is logarithmic."""
_FLAT_BELOW = 2.0
"""Below this ratio the scale begins at zero."""
_WIDEST = 48


def curve_lines(curve: Curve, width: int) -> list[Content]:
    """The curve in at most ``width`` cells. Steps are equally far apart; × is a value that is not finite."""
    finite = [value for value in curve.values if value is not None]
    low, high = min(finite), max(finite)
    is_log = low > 0 and high / low >= _LOG_FROM
    if 0 < low <= high < _FLAT_BELOW * low:
        low = 0.0  # on a scale from the smallest value a flat curve would look like a mountain
    labels = [f"{high:.3g}", *[""] * (ROWS - 2), f"{low:.3g}"]
    gutter = max(map(len, labels)) + 1
    values = [None if value is None else log(value) if is_log else value for value in curve.values]
    columns = _columns(values, max(len(values), min(_WIDEST, width - gutter)))
    bottom, top = (log(low), log(high)) if is_log else (low, high)
    heights = [None if value is None else _height(value, bottom, top) for value in columns]
    scale = ", logarithmic" if is_log else ""
    head = f"{curve.label}, steps {curve.steps[0]} to {curve.steps[-1]}{scale}"
    lines = [Content.styled(head, "$text-muted")]
    for row, label in enumerate(labels):
        cells = "".join(_cell(height, ROWS - 1 - row) for height in heights)
        gap = Content.styled(f"{label:>{gutter - 1}} ", "$text-muted")
        lines.append(gap.append(Content.styled(cells, "$primary")))
    return lines


def _columns(values: Sequence[float | None], width: int) -> list[float | None]:
    """The values at ``width`` places, with straight lines between them."""
    gaps = len(values) - 1
    places = [round(place * (width - 1) / gaps) for place in range(gaps + 1)]
    columns: list[float | None] = []
    for (start, end), (left, right) in zip(pairwise(places), pairwise(values), strict=True):
        for column in range(start, end):
            if left is None or right is None:
                columns.append(left)
            else:
                columns.append(left + (column - start) / (end - start) * (right - left))
    return [*columns, values[-1]]


def _height(value: float, bottom: float, top: float) -> int:
    """The height in eighths of a row, at least one."""
    if top == bottom:
        return 4 * ROWS
    return max(1, round(8 * ROWS * (value - bottom) / (top - bottom)))


def _cell(height: int | None, row_from_below: int) -> str:
    if height is None:
        return "×" if row_from_below == ROWS - 1 else " "
    return _EIGHTHS[max(0, min(8, height - 8 * row_from_below))]
