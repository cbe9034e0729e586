"""A bar of colored parts for a line of text."""

from collections.abc import Sequence

from textual.content import Content

REST = "$text-muted 60%"
"""The style of the empty part of a bar."""


def meter(parts: Sequence[tuple[float, str, str]], width: int, rest: str = "░") -> Content:
    """A bar ``width`` cells wide; each part is (share of the whole, style, character).

    A part with any share gets at least one cell, so that it does not disappear.
    """
    pieces: list[Content] = []
    used = 0
    for share, style, character in parts:
        cells = min(width - used, max(round(share * width), 1 if share > 0 else 0))
        if cells > 0:
            pieces.append(Content.styled(character * cells, style))
            used += cells
    pieces.append(Content.styled(rest * (width - used), REST))
    return Content("").join(pieces)
