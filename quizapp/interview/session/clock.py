"""A clock that only goes forward, at the pace of the world, also while the machine sleeps."""

import sys
import time
from collections.abc import Callable

Steady = Callable[[], float]
"""Seconds from an arbitrary start; differences are what counts."""


def steady() -> float:
    """Seconds that include suspension where the system offers such a clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":  # there CLOCK_MONOTONIC goes on while asleep, unlike `time.monotonic`
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.monotonic()
