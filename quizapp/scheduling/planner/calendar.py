"""The days until the interview: minutes by weekday, days off, rehearsals fixed in time, the taper."""

from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta
from math import ceil
from typing import NamedTuple

from quizapp.scheduling.planner.simulate import PlanDay, taper_of

MOCK, INCIDENT = "mock", "incident"
MOCK_LENGTHS = (15, 30, 45, 60)
INCIDENT_MINUTES = 15
LAST_MOCK_DAYS = 3  # before the interview; two where there are no three
_SHARE = 0.1  # of the time, for rehearsals
_LEAST_GAP = 3  # days from one rehearsal to the next


class CalendarDay(NamedTuple):
    """A day: its date, its minutes, how many of them a rehearsal takes, and the rest that is planned."""

    date: date
    minutes: float
    rehearsal: str
    rehearsal_minutes: int
    day: PlanDay


def calendar(
    today: date,
    until: date,
    minutes: Callable[[date], float],
    *,
    spent: float = 0.0,
    rehearsed: Collection[str] = (),
) -> list[CalendarDay]:
    """The days from today to the eve of the interview.

    ``minutes`` gives the minutes of a date, 0 for a day off. ``spent`` are minutes studied today already,
    ``rehearsed`` the rehearsals done today. The eve has half its minutes.
    """
    number = (until - today).days
    dates = [today + timedelta(days=day) for day in range(number)]
    lengths = [float(max(0.0, minutes(when))) for when in dates]
    if lengths:
        lengths[-1] /= 2
        lengths[0] = max(0.0, lengths[0] - spent)
    fixed = rehearsals(lengths)
    taper = number - taper_of(number)
    slots = []
    for day, (when, length) in enumerate(zip(dates, lengths, strict=True)):
        name, rehearsal_minutes = fixed.get(day, ("", 0))
        if day == 0 and name in rehearsed:
            name, rehearsal_minutes = "", 0
        rest = PlanDay(60 * (length - rehearsal_minutes), day >= taper, day == number - 1)
        slots.append(CalendarDay(when, length, name, rehearsal_minutes, rest))
    return slots


def rehearsals(minutes: Sequence[float]) -> dict[int, tuple[str, int]]:
    """Which days hold a mock interview or an incident, and for how many minutes.

    Counted back from the interview, so that they keep their days when the plan is made again: the last
    mock three days before, then in turns an incident and a mock, spaced so that together they take about a
    tenth of the time. A rehearsal on a day that is too short for it moves to an earlier one.
    """
    working = sorted(length for length in minutes[:-1] if length > 0)
    base = working[len(working) // 2] if working else 0.0
    pair = _length(MOCK, base) + _length(INCIDENT, base)
    if not pair:
        return {}
    gap = max(_LEAST_GAP, ceil(pair / 2 / (_SHARE * base)))
    days: dict[int, tuple[str, int]] = {}
    for number, wanted in enumerate(range(max(0, len(minutes) - LAST_MOCK_DAYS), -1, -gap)):
        name = (MOCK, INCIDENT)[number % 2]
        for day in range(wanted, max(-1, wanted - gap), -1):
            length = _length(name, minutes[day])
            if length:
                days[day] = (name, length)
                break
    return days


def _length(name: str, minutes: float) -> int:
    """Minutes of a rehearsal on a day: at most half the day, but at least the shortest; 0 if none fits."""
    if name == INCIDENT:
        return INCIDENT_MINUTES if minutes >= INCIDENT_MINUTES else 0
    fitting = [length for length in MOCK_LENGTHS if length <= max(MOCK_LENGTHS[0], minutes / 2)]
    return fitting[-1] if minutes >= fitting[-1] else 0
