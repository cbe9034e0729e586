"""Foreign text made harmless: shown literally, never as markup, controls or direction marks."""

import re
import unicodedata
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter, NoColor

_BIDI = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff{_BIDI}\ud800-\udfff]")
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


def clean(text: str) -> str:
    """``text`` with control and direction characters written as visible escapes."""
    text = text.replace("\r\n", "\n").expandtabs(4)
    return _CONTROL.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def plain(text: str, style: str = "") -> Content:
    """Foreign text as content, in one style, with nothing in it interpreted."""
    return Content.styled(clean(text), style) if style else Content(clean(text))


def one_line(text: str) -> str:
    """``text`` on one line with single spaces, harmless, for lists and titles."""
    return " ".join(clean(text).split())


def duration(seconds: float) -> str:
    """Seconds as people say them: ``45 s``, ``12 min``, ``3 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(seconds: float) -> str:
    """Seconds on a clock face: ``4:05`` or ``1:04:05``."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{second:02d}" if hours else f"{minutes}:{second:02d}"


def percent(share: float | None) -> str:
    """A share from 0 to 1 as people write it, ``84 %``, or a dash where there is none."""
    return "–" if share is None else f"{100 * share:.0f} %"


@lru_cache(4096)
def ascii_character(character: str) -> str:
    """What stands for one character on a terminal without Unicode; as many cells wide."""
    from rich.cells import cell_len

    if character.isascii():
        return character
    width = cell_len(character)
    known = _ASCII.get(character)
    if known is None and width:
        base = unicodedata.normalize("NFKD", character)[:1]
        known = base if base.isascii() and base.isprintable() else "?"
    return (known or "?") * width


class Uncoloured(NoColor):
    """Takes the colours away; what stood out by its background alone (the chosen row) stands out reversed."""

    _PLAIN = frozenset({0, 8, None})  # black and grey of the terminal, and mixed colours: scroll bars' tracks
    _REVERSE = Style(reverse=True)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours."""
        marked = [
            Segment(text, style + self._REVERSE, control)
            if style and style.bgcolor and style.bgcolor.number not in self._PLAIN and not style.reverse
            else Segment(text, style, control)
            for text, style, control in segments
        ]
        return super().apply(marked, background)


class AsciiFilter(LineFilter):
    """Replaces what the terminal cannot encode, in every widget and border, width kept."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with ASCII stand-ins."""
        del background
        return [
            segment if segment.text.isascii() else
            Segment("".join(map(ascii_character, segment.text)), segment.style, segment.control)
            for segment in segments
        ]  # fmt: skip
