"""Resource limits of a worker.

``RLIMIT_AS`` is useless here, since torch reserves far more address space than it uses. ``RLIMIT_DATA`` makes
the allocation fail at the user's line. It does not cover shared memory, so the judge watches that.
"""

import contextlib
import resource
from pathlib import Path

MEMORY = 2 << 30  # bytes of private memory beyond what the worker starts with
FILE_SIZE = 64 << 20
OPEN_FILES = 256
PAGE = resource.getpagesize()


def data_bytes() -> int:
    """Private writable memory of this process in bytes, as RLIMIT_DATA counts it; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * PAGE
    except OSError:
        return 0


def apply(seconds: float) -> None:
    """Limit this process's memory, processor time and files, and turn core dumps off.

    ``seconds`` is the deadline that the judge enforces; the limit on processor time is a second safeguard.
    """
    memory = data_bytes() + MEMORY
    _limit(resource.RLIMIT_DATA, memory)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, FILE_SIZE)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    # The time of all threads adds up, so honest code may use more processor time than the deadline.
    _limit(resource.RLIMIT_CPU, int(seconds) * 8 + 60)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(OSError, ValueError):  # macOS refuses some kinds
        resource.setrlimit(kind, (value, value))
