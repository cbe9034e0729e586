"""Shows progress in one line on stderr if that is a terminal; a pipe or a file gets nothing."""

import sys
import time
from types import TracebackType
from typing import Self

from quizapp.util.text import duration

_SILENT_S = 0.5  # a shorter wait needs no counter
_EVERY_S = 0.1
_WIDTH = 24
_STEPS_OF_PACE = 5  # fewer say too little about the pace


class Progress:
    """A bar if the ``total`` is known; otherwise a count of ``unit``, shown after half a second.

    With ``estimate``, the bar also says how long the rest takes at the pace so far.
    """

    def __init__(self, label: str, total: int = 0, *, unit: str = "", estimate: bool = False) -> None:
        self._label = label
        self._total = total
        self._unit = unit
        self._estimate = estimate
        self._count = 0
        self._start = self._shown = time.monotonic()
        self._drawn = False

    def __enter__(self) -> Self:
        if self._total:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wipe()

    def tick(self) -> None:
        """Count one more step."""
        self._count += 1
        now = time.monotonic()
        if self._total or (now - self._start >= _SILENT_S and now - self._shown >= _EVERY_S):
            self._shown = now
            self._draw()

    def write(self, line: str) -> None:
        """Write a line to stdout in place of the progress line."""
        self._wipe()
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _draw(self) -> None:
        if sys.stderr.isatty():
            self._drawn = True
            sys.stderr.write(f"\r{self._label}{self._text()}\x1b[K")
            sys.stderr.flush()

    def _text(self) -> str:
        if not self._total:
            return f": {self._count} {self._unit}"
        filled = _WIDTH * self._count // self._total
        return f" [{'#' * filled:.<{_WIDTH}}] {self._count}/{self._total}{self._rest()}"

    def _rest(self) -> str:
        """The estimated rest, once a few steps have shown the pace."""
        if not self._estimate or not _STEPS_OF_PACE <= self._count < self._total:
            return ""
        pace = (time.monotonic() - self._start) / self._count
        return f", about {duration(pace * (self._total - self._count))} left"

    def _wipe(self) -> None:
        if self._drawn:
            self._drawn = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
