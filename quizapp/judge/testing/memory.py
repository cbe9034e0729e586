"""Measures the memory of a worker, for exercises in which something must not be kept.

Spies see tensors of the kinds that they know. A submission can keep the same data as bytes, in a list, or in
an object that no spy has heard of, but not without memory.
"""

import ctypes
import gc
import os
import re
import time
from contextlib import suppress

PATIENCE = 1.0
"""Seconds. Ends early for a submission that keeps what it may keep, so it can be long."""

_FIELDS = re.compile(rb"Rss(?:Anon|Shmem):\s*(\d+) kB")

# Bound here, before a submission can replace them.
_read = os.pread
_now = time.monotonic
_sleep = time.sleep
_collect = gc.collect


def _find_trim() -> "ctypes._NamedFuncPointer | None":
    with suppress(OSError, AttributeError, TypeError):  # glibc only
        return ctypes.CDLL(None).malloc_trim
    return None


class MemoryGauge:
    """Reads how much memory this process occupies.

    Make one while the probes are loaded: later the sandbox hides the file that the kernel writes it to.
    """

    def __init__(self) -> None:
        self._trim = _find_trim()
        try:
            self._file = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = -1

    @property
    def works(self) -> bool:
        """Whether this system tells the occupied memory precisely enough."""
        return self._file >= 0 and self._trim is not None

    def occupied(self) -> int:
        """Bytes of memory that hold data, without garbage and without files that are only mapped.

        0 where the system does not say. Precise to about 1 MiB, so measure things of several MiB. Raises
        `OSError` if a submission has closed the file.
        """
        if not self.works:
            return 0
        _collect()
        self._trim(0)  # type: ignore[misc]
        return 1024 * sum(map(int, _FIELDS.findall(_read(self._file, 8192, 0))))

    def settled(self, limit: int) -> int:
        """The first reading of `occupied` below ``limit``, or the last one before `PATIENCE` runs out.

        Threads of torch free what they used some time after the call that needed it has returned.
        """
        until = _now() + PATIENCE
        while (reading := self.occupied()) >= limit and _now() < until:
            _sleep(0.01)
        return reading
