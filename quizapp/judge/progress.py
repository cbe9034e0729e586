"""A progress bar on stderr for work over half a second; silent where stderr is no terminal."""

import sys
from types import TracebackType
from typing import Self

_WIDTH = 24


class Progress:
    """Counts finished parts of ``total`` and draws a bar; used as a context manager."""

    def __init__(self, total: int, label: str):
        self.total = total
        self.done = 0
        self._label = label
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self) -> None:
        """One more part is done."""
        self.done += 1
        self._draw()

    def _draw(self) -> None:
        if self._shown:
            filled = _WIDTH * self.done // max(1, self.total)
            bar = "#" * filled + "-" * (_WIDTH - filled)
            sys.stderr.write(f"\r\x1b[K{self._label} [{bar}] {self.done}/{self.total}")
            sys.stderr.flush()
