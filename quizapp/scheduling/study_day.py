"""Clocks and study days. A study day begins at the rollover hour of local time."""

from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from quizapp.scheduling.events import Moment

DAY_S = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


class Clock(Protocol):
    """Where the time comes from; tests use a fixed one."""

    def now(self) -> datetime:
        """The current time, with the learner's local time zone."""


class SystemClock:
    """The machine's clock and time zone."""

    def now(self) -> datetime:
        """The current local time."""
        return datetime.now(UTC).astimezone()


class FixedClock:
    """A clock that stands still until it is moved; for scripts and tests."""

    def __init__(self, now: datetime) -> None:
        self.time = now

    def now(self) -> datetime:
        """The time it was set to."""
        return self.time

    def forward(self, **amount: float) -> None:
        """Move on by ``timedelta(**amount)``."""
        self.time += timedelta(**amount)


class StudyTime:
    """A clock together with the hour at which the learner's study day begins."""

    def __init__(self, clock: Clock, rollover_hour: int) -> None:
        self._clock = clock
        self._rollover_hour = rollover_hour

    def now(self) -> Moment:
        """The current time in the log's form."""
        return moment(self._clock.now(), self._rollover_hour)


def moment(now: datetime, rollover_hour: int) -> Moment:
    """An aware local time in the log's form: UTC ms, local offset in seconds, study day.

    The study day is the date on the wall clock ``rollover_hour`` hours ago. It therefore begins at the same
    local hour despite daylight saving time and travel.
    """
    offset = now.utcoffset()
    assert offset is not None, "clocks give aware times"
    local = now.replace(tzinfo=None)
    day = (local - timedelta(hours=rollover_hour)).toordinal()
    return Moment(round(now.timestamp() * 1000), round(offset.total_seconds()), day)


def day_start(day: int, offset: int, rollover_hour: int) -> int:
    """The beginning of a study day in UTC ms, for a local offset in seconds."""
    # Plain arithmetic, because ``date`` refuses the absurd days that an imported log may hold.
    return ((day - _EPOCH) * DAY_S + rollover_hour * 3600 - offset) * 1000


def as_datetime(ms: int) -> datetime:
    """UTC ms as an aware datetime."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def as_date(day: int) -> date:
    """A study day as a date."""
    return date.fromordinal(day)


def interval_text(interval: timedelta) -> str:
    """An interval as the buttons show it: ``10 m``, ``5 h``, ``3 d``, ``2.4 mo``, ``1.2 y``."""
    seconds = interval.total_seconds()
    if seconds < 3600:
        return f"{max(1, round(seconds / 60))} m"
    if seconds < DAY_S:
        return f"{round(seconds / 3600)} h"
    days = round(seconds / DAY_S)
    if days < 60:
        return f"{days} d"
    return f"{days / 30.4375:.1f} mo" if days < 365 else f"{days / 365.25:.1f} y"
