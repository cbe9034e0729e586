"""Highlights Python with one regular expression, because a lexer library would cost 20 MB of memory."""

import builtins
import keyword
import re
from collections.abc import Iterator
from typing import NamedTuple

from textual.content import Content, Span

# An unclosed string runs to the end of its line, or of the file if it is triple-quoted, as in an editor.
_STRING = r"(?i:\b[rbfu]{1,2})?(?:\"\"\"[\s\S]*?(?:\"\"\"|\Z)|'''[\s\S]*?(?:'''|\Z)"
_STRING += r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?)"
# A "#" inside a string begins no comment, because the match that starts first wins. The order of the
# alternatives decides the rest: the name after "def" or "class" has to come before any other word.
_PATTERN = re.compile(
    rf"(?P<comment>\#[^\n]*)|(?P<string>{_STRING})"
    r"|(?P<decorator>^[ \t]*@[\w.]+)|(?P<number>\b(?:0x[\da-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\b)"
    r"|(?P<definition>(?<=\bdef )\w+|(?<=\bclass )\w+)|(?P<word>[^\W\d]\w*)",
    re.MULTILINE,
)
_CONSTANTS = frozenset({"True", "False", "None", "self", "cls"})
_KEYWORDS = frozenset(keyword.kwlist) - _CONSTANTS
_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())

STYLES = {
    "comment": "$text-muted italic",
    "string": "$text-success",
    "decorator": "$text-warning",
    "number": "$text-warning",
    "definition": "$text-primary bold",
    "keyword": "$text-accent",
    "constant": "$text-warning",
    "builtin": "$text-primary",
}


class Token(NamedTuple):
    """A colored part of the source: its character offsets and its kind, a key of ``STYLES``."""

    start: int
    end: int
    kind: str


def tokens(source: str) -> Iterator[Token]:
    """The colored parts of Python source, in order. The source need not be valid."""
    for match in _PATTERN.finditer(source):
        kind = match.lastgroup or ""
        if kind == "word":
            word = match[0]
            if word in _KEYWORDS:
                kind = "keyword"
            elif word in _CONSTANTS:
                kind = "constant"
            elif word in _BUILTINS:
                kind = "builtin"
            else:
                continue
        yield Token(match.start(), match.end(), kind)


def highlight(source: str, language: str = "python") -> Content:
    """Source code with colors; languages other than Python stay plain."""
    if language not in {"", "python", "py", "python3"}:
        return Content(source)
    return Content(source, spans=[Span(start, end, STYLES[kind]) for start, end, kind in tokens(source)])
