"""What a submission printed: kept head and tail, made harmless for a terminal."""

from quizapp.util.sanitize import escape_unprintable

HEAD = TAIL = 4000


class PrintedOutput:
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
        return escape_unprintable((bytes(self._head) + gap + tail).decode(errors="replace"))
