"""A progress bar on stderr; silent where stderr is no terminal."""

import sys
from types import TracebackType
from typing import Self

_WIDTH = 24


class Progress:
    """Counts up to ``total``; a context manager that leaves the line clean."""

    def __init__(self, total: int, label: str):
        self._total = total
        self._label = label
        self._done = 0
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Self:
        self._draw()
        return self

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        self._draw()

    def _draw(self) -> None:
        if self._shown:
            filled = _WIDTH * self._done // max(self._total, 1)
            bar = "#" * filled + "." * (_WIDTH - filled)
            sys.stderr.write(f"\r{self._label} [{bar}] {self._done}/{self._total}")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
