"""Lays text out into lines of a given width: prose, code, tables, hanging indents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from textual.content import Content

# To keep a number and its unit on one line, and a relation with its right side, a private-use character
# replaces the space between them. A no-break space would not help, because Textual breaks lines at every
# kind of white space.
_JOINED = re.compile(
    r"(?<=\d) (?=(?:%|[kKMGT]?i?B|ms|µs|ns|s|bits?|[KMGTPE]?FLOPs?)(?!\w))"
    r"|(?<= [=≈≤≥]) (?=\S)"
)
_JOINT = "\ue000"


def wrap(text: Content, width: int) -> list[Content]:
    """Break ``text`` into lines of at most ``width`` cells. No line ends between a number and its unit."""
    plain = text.plain
    joined = _JOINED.sub(_JOINT, plain)
    if joined == plain:
        return text.wrap(width)
    return [
        Content(line.plain.replace(_JOINT, " "), spans=list(line.spans))
        for line in Content(joined, spans=list(text.spans)).wrap(width)
    ]


def hanging(first: Content, body: Content, width: int) -> list[Content]:
    """Wrap ``body`` behind ``first`` and indent the lines after the first to match."""
    indent = first.cell_length
    wrapped = wrap(body, max(8, width - indent))
    return [first.append(wrapped[0]), *(Content(" " * indent).append(line) for line in wrapped[1:])]


@dataclass(slots=True)
class Block:
    """A paragraph, heading, code block, rule or table.

    ``first`` and ``rest`` are the prefixes of the first line and of all others. ``rows`` holds the cells of a
    table. A ``tight`` block follows the one before it without an empty line.
    """

    content: Content
    first: str = ""
    rest: str = ""
    kind: str = "text"
    rows: list[list[Content]] = field(default_factory=list)
    tight: bool = False


def lay_out(blocks: Sequence[Block], width: int) -> list[Content]:
    """Lay out blocks as lines of at most ``width`` cells."""
    lines: list[Content] = []
    for block in blocks:
        if lines and not block.tight:
            lines.append(Content(""))
        lines += _BLOCKS.get(block.kind, _text_lines)(block, max(8, width))
    return lines


def _prefixed(block: Block, body: list[Content]) -> list[Content]:
    return [Content(block.rest if row else block.first).append(line) for row, line in enumerate(body)]


def _text_lines(block: Block, width: int) -> list[Content]:
    return _prefixed(block, wrap(block.content, max(4, width - len(block.first))))


def _code_lines(block: Block, width: int) -> list[Content]:
    inner = max(4, width - len(block.first) - 2)
    body = [piece for line in block.content.split("\n", allow_blank=True) for piece in fold_code(line, inner)]
    return _prefixed(block, [Content.styled("▏ ", "$text-muted").append(line) for line in body])


def fold_code(line: Content, width: int) -> list[Content]:
    """Break a line of code into pieces of at most ``width`` cells, at a space in the second half if possible.

    The pieces after the first are indented more than the line, so that they do not look like new lines.
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
    # Markdown requires a header row; one without text is left out together with its rule.
    headless = not any(cell.plain.strip() for cell in rows[0])
    for index, row in enumerate(rows):
        if index == 0 and headless:
            continue
        cells = [wrap(row[i] if i < len(row) else Content(""), widths[i]) for i in range(columns)]
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
    # Take single cells from the widest column, so that narrow columns keep their width as long as possible.
    while sum(widths) > max(room, columns * 4):
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return [max(1, width) for width in widths]


_BLOCKS = {"code": _code_lines, "rule": _rule_lines, "table": _table_lines}
