r"""Makes text from outside the program safe to show in a terminal.

A control character in a file name, a deck or the output of a submission could move the cursor, recolor the
screen or reverse the reading direction. A visible escape such as ``\x1b`` replaces it.
"""

import re
import unicodedata

_DIRECTION = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff{_DIRECTION}\ud800-\udfff]")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # Unicode categories


def escape_controls(text: str) -> str:
    """Escape control and direction characters of prose; tabs become spaces, line breaks stay.

    Joiners and other invisible format characters stay: several scripts cannot be written without them.
    """
    return _CONTROL.sub(lambda match: _escape(match[0]), text.replace("\r\n", "\n").expandtabs(4))


def escape_unprintable(text: str) -> str:
    """Escape everything invisible, for the output of untrusted code and for error messages.

    Tabs and line breaks stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) not in _UNPRINTABLE
        else _escape(character)
        for character in text.replace("\r\n", "\n")
    )  # fmt: skip


def one_line(text: str) -> str:
    """Put prose on one line for lists and titles: single spaces, control characters escaped."""
    return " ".join(escape_controls(text).split())


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
