"""A mark on a line from 0 to 100, with the interval around it and the mark that passes."""

from textual.content import Content


def ruler(total: int, low: int, high: int, mark: int, width: int) -> Content:
    """A line ``width`` cells wide with ``total``, its interval ``low`` to ``high``, and the pass ``mark``."""
    last = width - 1
    cells = ["─"] * width
    styles = ["$text-muted"] * width
    for place in range(round(low * last / 100), round(high * last / 100) + 1):
        cells[place], styles[place] = "━", "$primary"
    at = round(mark * last / 100)
    cells[at], styles[at] = "┃", "$warning bold"
    here = round(total * last / 100)
    cells[here], styles[here] = "●", "$primary bold"
    return Content.assemble(*zip(cells, styles, strict=True))
