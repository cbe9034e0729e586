"""Collects what a script prints, and hands it on line by line while the script runs."""

import codecs
from collections.abc import Callable

from quizapp.judge.protocol.scripts import MAX_LOG
from quizapp.util.sanitize import escape_unprintable

_LONGEST_LINE = 2000  # characters; a script that never ends its line must not be kept waiting for it


class ScriptLog:
    """The log of one run, in bounded memory. ``on_text`` gets whole lines as soon as they are complete."""

    def __init__(self, on_text: Callable[[str], None]):
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lines: list[str] = []
        self._size = 0
        self._unfinished = ""
        self._dropped = 0  # bytes

    def add(self, part: bytes) -> None:
        """Add the next bytes. What exceeds the limit is only counted."""
        if self._size >= MAX_LOG:
            self._dropped += len(part)
            return
        text = self._unfinished + self._decoder.decode(part)
        *lines, self._unfinished = text.split("\n")
        while len(self._unfinished) > _LONGEST_LINE:
            lines.append(self._unfinished[:_LONGEST_LINE])
            self._unfinished = self._unfinished[_LONGEST_LINE:]
        self._keep(lines)

    def _keep(self, lines: list[str]) -> None:
        shown = []
        for line in lines:
            if self._size >= MAX_LOG:
                self._dropped += len(line) + 1
                continue
            safe = escape_unprintable(line)[: MAX_LOG - self._size]
            self._size += len(safe) + 1
            shown.append(safe)
        if shown:
            self._lines += shown
            self._on_text("\n".join(shown) + "\n")

    def finish(self) -> None:
        """Hand on a last line without an end, and a note of what was dropped."""
        if self._unfinished:
            self._keep([self._unfinished])
            self._unfinished = ""
        if self._dropped:
            note = f"... {self._dropped} more bytes are not kept ..."
            self._lines.append(note)
            self._on_text(note + "\n")
            self._dropped = 0

    def text(self) -> str:
        """The lines so far."""
        return "".join(f"{line}\n" for line in self._lines)
