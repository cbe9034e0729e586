"""A line on a terminal's stderr for what takes longer than a moment."""

import sys
import time
from types import TracebackType
from typing import Self

_SILENT_S = 0.5
_EVERY_S = 0.1


class Progress:
    """Shows ``name`` and a growing count once half a second has gone; wiped away at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start = self._shown = time.monotonic()
        self._count = 0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def tick(self) -> None:
        """One more step is done."""
        self._count += 1
        now = time.monotonic()
        if now - self._start < _SILENT_S or now - self._shown < _EVERY_S or not sys.stderr.isatty():
            return
        self._shown, self._drawn = now, True
        sys.stderr.write(f"\r{self._name}: {self._count} courses simulated")
        sys.stderr.flush()
