"""Time in an interview: a clock that never stops, and the limits of questions and phases."""

import sys
import time
from collections.abc import Callable, Iterator

from quizapp.interview.blueprint import CUT_SHARE
from quizapp.interview.session.question import OPEN, InterviewQuestion

Steady = Callable[[], float]
"""A clock in seconds from an arbitrary start. Only differences count."""

STALL_MS = 10_000
"""A longer gap between two ticks means that the process was stopped, so nobody could answer."""
WARNINGS = (50, 90)
"""The percentages of its budget at which the learner is warned."""


def steady() -> float:
    """Seconds of a clock that, where the system has one, also runs during sleep."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        # On macOS CLOCK_MONOTONIC keeps running during sleep, unlike `time.monotonic`.
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.monotonic()


def still() -> float:
    """A clock that stands still, for practice."""
    return 0.0


class Stopwatch:
    """Measures laps of a steady clock in whole milliseconds. Each fraction carries over to the next lap."""

    def __init__(self, clock: Steady) -> None:
        self._clock = clock
        self._last = clock()
        self._rest = 0.0

    def restart(self) -> None:
        """Forget the time that has passed."""
        self._last, self._rest = self._clock(), 0.0

    def lap(self) -> int:
        """Whole milliseconds since the last lap."""
        now = self._clock()
        passed = max(0.0, now - self._last) * 1000 + self._rest
        self._last = now
        self._rest = passed - int(passed)
        return int(passed)


def used_and_budget_ms(item: InterviewQuestion) -> tuple[int, int]:
    """The used time and the budget of the open answer or follow-up question."""
    timed = item.open_follow_up or item
    return timed.used_ms, 1000 * timed.budget


def limits_ms(item: InterviewQuestion) -> Iterator[int]:
    """Yield the milliseconds left until each warning and until the cut, negative once they are past."""
    used, budget = used_and_budget_ms(item)
    for share in (*(percent / 100 for percent in WARNINGS), CUT_SHARE):
        yield int(budget * share) - used


def spend(item: InterviewQuestion, ms: int) -> None:
    """Count time on the answer or on the follow-up question, whichever is open."""
    follow_up = item.open_follow_up
    if follow_up is not None:
        follow_up.used_ms += ms
    elif item.state == OPEN:
        item.used_ms += ms
