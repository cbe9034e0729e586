"""What a submission printed: kept head and tail, made harmless for a terminal."""

import unicodedata

HEAD = TAIL = 4000


class Printed:
    """Collects a stream of bytes in bounded memory."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, part: bytes) -> None:
        """Take in the next bytes."""
        self._total += len(part)
        room = HEAD - len(self._head)
        self._head += part[:room]
        self._tail += part[max(room, 0) :][-TAIL:]
        if len(self._tail) > 4 * TAIL:
            del self._tail[:-TAIL]

    def text(self) -> str:
        """Head and tail as harmless text, with a note of how much lies between."""
        tail = bytes(self._tail[-TAIL:])
        missing = self._total - len(self._head) - len(tail)
        gap = f"\n... {missing} more bytes ...\n".encode() if missing else b""
        return clean((bytes(self._head) + gap + tail).decode(errors="replace"))


def clean(text: str) -> str:
    """``text`` without anything that a terminal obeys: control and format characters become visible codes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _plain(c) else _visible(c) for c in text.replace("\r\n", "\n"))


def _plain(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
