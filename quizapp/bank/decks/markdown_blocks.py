"""The block structure of a Markdown text: headings, lists and code, with the lines that they are on.

Words inside a paragraph are not parsed, which is most of the work of a Markdown parser.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MAX_NESTING = 20


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 20 ms, only where a deck is read

    # Definitions of links are not needed, and reading them is quadratic in hostile texts.
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    return parser.disable(["reference", "inline"])


def blocks(text: str) -> "Sequence[Token]":
    """The tokens of the blocks of ``text``. An ``inline`` token has the source of a paragraph or heading."""
    return _parser().parse(text)
