"""Lays out Markdown as lines of content for a single widget, with theme colors and hanging indents.

Textual's ``Markdown`` creates a widget per block. Rich's spends 50 ms on lexers and drops ``<tags>``.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content, Span
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from quizapp.tui.rendering.highlight import highlight
from quizapp.tui.rendering.layout import Block, lay_out
from quizapp.tui.theme import without_color
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}
_WITH_TOKEN = frozenset({"inline", "ordered_list_open", "fence", "code_block"})


@lru_cache(1)
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # takes 17 ms, so it waits until after the first frame

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def parse(source: str) -> list[Block]:
    """The blocks of a Markdown text."""
    return _Builder().build(_parser().parse(escape_controls(source)))


class _Builder:
    """Turns the parser's tokens into blocks; the method ``_<type>`` handles tokens of that type."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.indents: list[str] = []
        self.marker = ""
        self.counters: list[int | None] = []
        self.heading = False
        self.tight = False
        self.table: list[list[Content]] | None = None

    def build(self, tokens: Sequence["Token"]) -> list[Block]:
        for token in tokens:
            handler = getattr(self, f"_{token.type}", None)
            if handler is not None:
                handler(token) if token.type in _WITH_TOKEN else handler()
        return self.blocks

    def _add(self, content: Content, kind: str = "text", rows: list[list[Content]] | None = None) -> None:
        rest = "".join(self.indents)
        first = "".join(self.indents[:-1]) + self.marker if self.marker else rest
        tight = self.tight and bool(self.blocks)
        self.blocks.append(Block(content, first, rest, kind, rows or [], tight))
        self.marker = ""
        self.tight = False

    def _inline(self, token: "Token") -> None:
        content = inline(token.children or [])
        if self.table is not None:
            self.table[-1].append(content)
            return
        if self.heading:
            content = content.stylize("bold $text-primary")
        self._add(content)

    def _heading_open(self) -> None:
        self.heading = True

    def _heading_close(self) -> None:
        self.heading = False

    def _bullet_list_open(self) -> None:
        self.counters.append(None)

    def _ordered_list_open(self, token: "Token") -> None:
        self.counters.append(int(token.attrGet("start") or 1))

    def _list_item_open(self) -> None:
        number = self.counters[-1]
        self.tight = self.marker == "" and (number not in {None, 1} or self._follows_item)
        if number is None:
            self.marker = "• "
        else:
            self.marker = f"{number}. "
            self.counters[-1] = number + 1
        self.indents.append(" " * len(self.marker))

    _follows_item = False

    def _list_item_close(self) -> None:
        self.indents.pop()
        self.marker = ""
        self._follows_item = True

    def _bullet_list_close(self) -> None:
        self.counters.pop()
        self._follows_item = bool(self.counters)

    _ordered_list_close = _bullet_list_close

    def _blockquote_open(self) -> None:
        self.indents.append("▏ ")

    def _blockquote_close(self) -> None:
        self.indents.pop()

    def _fence(self, token: "Token") -> None:
        language = token.info.split()[0] if token.info.strip() else "text"
        self._add(highlight(token.content.rstrip("\n"), language), "code")

    def _code_block(self, token: "Token") -> None:
        self._add(highlight(token.content.rstrip("\n"), "text"), "code")

    def _hr(self) -> None:
        self._add(Content(""), "rule")

    def _table_open(self) -> None:
        self.table = []

    def _tr_open(self) -> None:
        if self.table is not None:
            self.table.append([])

    def _table_close(self) -> None:
        rows, self.table = self.table or [], None
        self._add(Content(""), "table", rows)


def _code() -> str:
    return "bold" if without_color() else "$text-accent"


def inline(children: Sequence["Token"]) -> Content:
    """Convert inline tokens to content. A link shows its target too, unless its text does."""
    text: list[str] = []
    spans: list[Span] = []
    open_at: list[tuple[str, int]] = []
    length = 0

    def add(piece: str, style: str = "") -> None:
        nonlocal length
        text.append(piece)
        if style:
            spans.append(Span(length, length + len(piece), style))
        length += len(piece)

    for token in children:
        name, _, edge = token.type.rpartition("_")
        if token.type in {"softbreak", "hardbreak"}:
            add("\n" if token.type == "hardbreak" else " ")
        elif token.type == "code_inline":
            add(token.content, _code())
        elif edge == "open" and name in _MARKS:
            open_at.append((name, length))
        elif edge == "close" and name in _MARKS and open_at:
            opened, start = open_at.pop()
            spans.append(Span(start, length, _MARKS[opened]))
        elif token.type == "link_open":
            open_at.append((str(token.attrGet("href") or ""), length))
        elif token.type == "link_close" and open_at:
            target, start = open_at.pop()
            if target not in "".join(text)[start:]:  # a bare address is its own text
                add(f" ({target})", "$text-muted")
        else:
            add(token.content)
    return Content("".join(text), spans=spans)


_CODE_SPAN = re.compile(r"`([^`\n]+)`")


def phrase(text: str, style: str = "") -> Content:
    """A short text in one style. Only code in backticks is marked up; nothing else is interpreted."""
    parts: list[Content] = []
    end = 0
    text = escape_controls(text)
    for match in _CODE_SPAN.finditer(text):
        parts += [
            Content.styled(text[end : match.start()], style),
            Content.styled(match[1], style or _code()),
        ]
        end = match.end()
    return Content("").join([*parts, Content.styled(text[end:], style)])


class Document(Visual):
    """A Markdown text that is parsed once and laid out once per width."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._blocks = parse(source)
        self._laid: dict[int, Content] = {}

    def at(self, width: int) -> Content:
        """The text laid out for ``width`` cells; up to four widths are cached."""
        laid = self._laid.get(width)
        if laid is None:
            if len(self._laid) > 3:
                self._laid.clear()
            laid = self._laid[width] = Content("\n").join(lay_out(self._blocks, width))
        return laid

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Render the text at a width."""
        return self.at(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """The whole container, because paragraphs fill it."""
        del rules
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The number of lines at a width."""
        del rules
        return self.at(width).plain.count("\n") + 1 if width else 0


@lru_cache(256)
def document(source: str) -> Document:
    """The prepared text of ``source``, cached by source."""
    return Document(source)
