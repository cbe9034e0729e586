"""Prose broken into lines, a number kept with its unit."""

import re

from textual.content import Content

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[kKMGT]?i?B|ms|µs|ns|s|bits?)(?!\w))")
_JOINT = "\ue000"  # one cell wide and no white space, which Textual breaks at, the hard kinds included


def wrap(text: Content, width: int) -> list[Content]:
    """Lines of at most ``width`` cells."""
    plain = text.plain
    joined = _BEFORE_UNIT.sub(_JOINT, plain)
    if joined == plain:
        return text.wrap(width)
    return [
        Content(line.plain.replace(_JOINT, " "), spans=list(line.spans))
        for line in Content(joined, spans=list(text.spans)).wrap(width)
    ]
