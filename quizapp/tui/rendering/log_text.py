"""Draws the log of a run: its curves, and its last lines."""

import math
from collections.abc import Sequence
from textwrap import wrap

from textual.content import Content

from quizapp.incidents.curves import Curve
from quizapp.incidents.live.baseline import LogField
from quizapp.incidents.live.run_log import LogRow
from quizapp.tui.rendering.curve import curve_lines
from quizapp.tui.rendering.text import plain

_GUTTER = 12
_FEWEST = 2
_NO_BREAK = "\N{NO-BREAK SPACE}"
_INDENT = "    "


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
    """The last ``count`` rows of a log; a line that is too long goes on below, indented."""
    rows = [row for line in lines[-count:] for row in _fold(line, width)]
    return [plain(row).truncate(width, ellipsis=True) for row in rows[-count:]]


def _fold(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    if line.startswith("step "):
        # Two spaces separate the fields of a step; a row must not end between a name and its value.
        line = "  ".join(field.replace(" ", _NO_BREAK) for field in line.split("  "))
    rows = wrap(line, max(len(_INDENT) + 1, width), subsequent_indent=_INDENT, replace_whitespace=False)
    return [row.replace(_NO_BREAK, " ") for row in rows] or [line]
