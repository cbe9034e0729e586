"""Text that is shown literally, links, and filters for terminals without colors or Unicode."""

import unicodedata
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter, NoColor
from textual.style import Style as ClickStyle

from quizapp.util.sanitize import escape_controls

_ASCII = {
    **dict.fromkeys("─━═┄╌▔▁", "-"),
    **dict.fromkeys("│┃║▌▐▏▕▎▊", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝", "+"),
    **dict.fromkeys("█▇▆▅■▰▓", "#"),
    **dict.fromkeys("▒▄▃", "+"),
    **dict.fromkeys("░▂▱□·", "."),
    **dict.fromkeys("•●◆", "*"),
    **dict.fromkeys("○◇", "o"),
    **dict.fromkeys("▶▸→›⇒", ">"),
    **dict.fromkeys("◀◂←‹⇐", "<"),
    **dict.fromkeys("↑▲", "^"),
    **dict.fromkeys("↓▼∇", "v"),
    **dict.fromkeys("–—−‐‑", "-"),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”″", '"'),
    **dict.fromkeys("✓✔√", "v"),
    **dict.fromkeys("✗✘×", "x"),
    **dict(zip("αβγδεζηθικλμνξοπρστυφχψω", "abgdezhtiklmnxoprstufcyw", strict=True)),
    "…": ".", "≤": "<", "≥": ">", "≈": "~", "≠": "!", "∞": "8", "²": "2", "³": "3", "¹": "1",
    "⌕": "/", "∑": "S", "∂": "d", "∈": "e", "⏎": "<", "‖": "|", "∥": "|",
}  # fmt: skip


def plain(text: str, style: str = "") -> Content:
    """Text from outside the program as content in one style; nothing in it is interpreted."""
    return Content.styled(escape_controls(text), style) if style else Content(escape_controls(text))


def link(text: str | Content, action: str, style: str = "") -> Content:
    """Text that runs an action, such as ``screen.start``, when it is clicked."""
    content = Content(text) if isinstance(text, str) else text
    content = content.stylize(ClickStyle.from_meta({"@click": action}), 0, len(content.plain))
    return content.stylize(style) if style else content


@lru_cache(4096)
def ascii_character(character: str) -> str:
    """The ASCII replacement of one character, as many cells wide."""
    from rich.cells import cell_len

    if character.isascii():
        return character
    width = cell_len(character)
    replacement = _ASCII.get(character)
    if replacement is None and width:
        base = unicodedata.normalize("NFKD", character)[:1]
        replacement = base if base.isascii() and base.isprintable() else "?"
    return (replacement or "?") * width


class Uncolored(NoColor):
    """Removes colors, and reverses what only its background made visible, such as the chosen row."""

    # Backgrounds that are not reversed: the terminal's black and gray, and mixed colors (scroll bar tracks).
    _PLAIN = frozenset({0, 8, None})
    _REVERSE = Style(reverse=True)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colors."""
        marked = [
            Segment(text, style + self._REVERSE, control)
            if style and style.bgcolor and style.bgcolor.number not in self._PLAIN and not style.reverse
            else Segment(text, style, control)
            for text, style, control in segments
        ]
        return super().apply(marked, background)


class AsciiFilter(LineFilter):
    """Replaces what the terminal cannot encode, in all widgets and borders, without changing widths."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in ASCII."""
        del background
        return [
            segment if segment.text.isascii() else
            Segment("".join(map(ascii_character, segment.text)), segment.style, segment.control)
            for segment in segments
        ]  # fmt: skip
