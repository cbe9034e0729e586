"""Markdown laid out once into lines of content: one widget, theme colours, hanging indents.

Textual's ``Markdown`` makes a widget per block; Rich's loads 50 ms of lexers and drops ``<tags>``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content, Span
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from quizapp.tui.syntax import highlight
from quizapp.tui.text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}
_CODE = "$text-accent"
_WITH_TOKEN = frozenset({"inline", "ordered_list_open", "fence", "code_block"})


@dataclass(slots=True)
class Block:
    """A paragraph, heading, code block or table, with the prefixes of its first and other lines."""

    content: Content
    first: str = ""
    rest: str = ""
    kind: str = "text"
    rows: list[list[Content]] = field(default_factory=list)
    tight: bool = False


@lru_cache(1)
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 17 ms, after the first frame

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def parse(source: str) -> list[Block]:
    """The blocks of a Markdown text."""
    return _Builder().build(_parser().parse(clean(source)))


class _Builder:
    """Walks the token stream with a stack of list markers."""

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


def inline(children: Sequence["Token"]) -> Content:
    """Inline tokens as content."""
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
            add(token.content, _CODE)
        elif edge == "open" and name in _MARKS:
            open_at.append((name, length))
        elif edge == "close" and name in _MARKS and open_at:
            opened, start = open_at.pop()
            spans.append(Span(start, length, _MARKS[opened]))
        elif token.type == "link_open":
            open_at.append((str(token.attrGet("href") or ""), length))
        elif token.type == "link_close" and open_at:
            target, start = open_at.pop()
            if target not in "".join(text)[start:]:
                add(f" ({target})", "$text-muted")
        else:
            add(token.content)
    return Content("".join(text), spans=spans)


_CODE_SPAN = re.compile(r"`([^`\n]+)`")


def phrase(text: str, style: str = "") -> Content:
    """A short text in one style in which only code in backticks is marked up: nothing else is interpreted."""
    parts: list[Content] = []
    end = 0
    text = clean(text)
    for match in _CODE_SPAN.finditer(text):
        parts += [Content.styled(text[end : match.start()], style), Content.styled(match[1], style or _CODE)]
        end = match.end()
    return Content("").join([*parts, Content.styled(text[end:], style)])


def lay_out(blocks: Sequence[Block], width: int) -> list[Content]:
    """Blocks as lines of at most ``width`` cells."""
    lines: list[Content] = []
    for block in blocks:
        if lines and not block.tight:
            lines.append(Content(""))
        lines += _BLOCKS.get(block.kind, _text_lines)(block, max(8, width))
    return lines


def _prefixed(block: Block, body: list[Content]) -> list[Content]:
    return [Content(block.rest if row else block.first).append(line) for row, line in enumerate(body)]


def _text_lines(block: Block, width: int) -> list[Content]:
    return _prefixed(block, block.content.wrap(max(4, width - len(block.first))))


def _code_lines(block: Block, width: int) -> list[Content]:
    inner = max(4, width - len(block.first) - 2)
    body = [piece for line in block.content.split("\n", allow_blank=True) for piece in fold_code(line, inner)]
    return _prefixed(block, [Content.styled("▏ ", "$text-muted").append(line) for line in body])


def fold_code(line: Content, width: int) -> list[Content]:
    """A line of code in pieces of at most ``width`` cells, cut at a blank where one is near.

    What follows the first piece is indented deeper than the line, so that it looks like no line of its own.
    """
    indent = len(line.plain) - len(line.plain.lstrip())
    hang = min(indent + 4, width // 2)
    pieces: list[Content] = []
    while line.cell_length > width:
        piece = line.fold(width)[0].plain
        cut = piece.rfind(" ", max(indent, len(piece) // 2)) + 1 or len(piece)
        pieces.append(line[:cut])
        line, indent = Content(" " * hang).append(line[cut:]), hang
    return [*pieces, line]


def _rule_lines(block: Block, width: int) -> list[Content]:
    return _prefixed(block, [Content.styled("─" * (width - len(block.first)), "$text-muted")])


def _table_lines(block: Block, width: int) -> list[Content]:
    rows = [row for row in block.rows if row]
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = _column_widths(rows, columns, width - len(block.first) - 2 * (columns - 1))
    lines: list[Content] = []
    headless = not any(cell.plain.strip() for cell in rows[0])
    for index, row in enumerate(rows):
        if index == 0 and headless:
            continue
        cells = [(row[i] if i < len(row) else Content("")).wrap(widths[i]) for i in range(columns)]
        for level in range(max(map(len, cells))):
            parts = [
                (cell[level] if level < len(cell) else Content("")).pad_right(
                    max(0, size - (cell[level].cell_length if level < len(cell) else 0))
                )
                for cell, size in zip(cells, widths, strict=True)
            ]
            line = Content("  ").join(parts)
            lines.append(line.stylize("bold") if index == 0 else line)
        if index == 0:
            lines.append(Content.styled("  ".join("─" * size for size in widths), "$text-muted"))
    return _prefixed(block, lines)


def _column_widths(rows: list[list[Content]], columns: int, room: int) -> list[int]:
    widths = [max((row[i].cell_length for row in rows if i < len(row)), default=1) for i in range(columns)]
    while sum(widths) > max(room, columns * 4):
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return [max(1, width) for width in widths]


_BLOCKS = {"code": _code_lines, "rule": _rule_lines, "table": _table_lines}


class Document(Visual):
    """A prepared Markdown text: parsed once, laid out once per width, drawn as one content."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._blocks = parse(source)
        self._laid: dict[int, Content] = {}

    def at(self, width: int) -> Content:
        """The text laid out for ``width`` cells; kept for the last widths asked for."""
        laid = self._laid.get(width)
        if laid is None:
            if len(self._laid) > 3:
                self._laid.clear()
            laid = self._laid[width] = Content("\n").join(lay_out(self._blocks, width))
        return laid

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """The strips of the text at a width."""
        return self.at(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All the width there is: paragraphs fill it."""
        del rules
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """How many lines the text takes."""
        del rules
        return self.at(width).plain.count("\n") + 1 if width else 0


@lru_cache(256)
def document(source: str) -> Document:
    """The prepared text of ``source``; the same source is prepared once."""
    return Document(source)
