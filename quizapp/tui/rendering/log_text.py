"""Draws the log of a run: its curves, and its last lines."""

import math
from collections.abc import Sequence

from textual.content import Content

from quizapp.incidents.curves import Curve
from quizapp.incidents.live.baseline import LogField
from quizapp.incidents.live.run_log import LogRow
from quizapp.tui.rendering.curve import curve_lines
from quizapp.tui.rendering.text import plain

_GUTTER = 12
_FEWEST = 2


def log_curve(rows: Sequence[LogRow], field: LogField, width: int) -> Curve | None:
    """The curve of a field at no more than ``width`` points; None if it has too few finite values.

    Of the steps that share a point the largest value is drawn, so that no spike is lost; a value that is
    not finite is drawn as such.
    """
    points = [(row.step, row.values[field.name]) for row in rows if field.name in row.values]
    size = max(1, -(-len(points) // max(_FEWEST, width)))
    steps: list[int] = []
    values: list[float | None] = []
    for first in range(0, len(points), size):
        group = points[first : first + size]
        finite = all(math.isfinite(value) for _, value in group)
        steps.append(group[0][0])
        values.append(max(value for _, value in group) if finite else None)
    if len(points) < _FEWEST or all(value is None for value in values):
        return None
    steps[-1] = points[-1][0]
    return Curve(field.title, tuple(steps), tuple(values))


def curves(rows: Sequence[LogRow], fields: Sequence[LogField], width: int) -> list[Content]:
    """All curves of a log, one below the other."""
    lines: list[Content] = []
    for field in fields:
        curve = log_curve(rows, field, width - _GUTTER) if field.curve else None
        lines += curve_lines(curve, width) if curve is not None else ()
    return lines


def tail(lines: Sequence[str], count: int, width: int) -> list[Content]:
    """The last lines of a log, each cut to the width."""
    return [plain(line).truncate(width, ellipsis=True) for line in lines[-count:]]
