"""The days until the interview: minutes by weekday, days off, rehearsals fixed in time, the taper."""

from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from quizapp.memory.plan.simulate import Day, taper_of

MOCK, INCIDENT = "mock", "incident"
MOCK_LENGTHS = (15, 30, 45, 60)
INCIDENT_MINUTES = 15
LAST_MOCK_DAYS = 3  # before the interview; two where there are no three
_WEEKLY_FROM = 30  # minutes a day; below, mocks and incidents take turns week by week


class Slot(NamedTuple):
    """A day: its date, the minutes in all, those of a rehearsal among them, and what is left to plan."""

    date: date
    minutes: float
    rehearsal: str
    rehearsal_minutes: int
    day: Day


def calendar(
    today: date,
    until: date,
    minutes: Callable[[date], float],
    *,
    spent: float = 0.0,
    rehearsed: Collection[str] = (),
) -> list[Slot]:
    """The days from today to the eve of the interview.

    ``minutes`` gives the minutes of a date, 0 for a day off. ``spent`` are minutes studied today already,
    ``rehearsed`` the rehearsals done today. The eve has half its minutes.
    """
    number = (until - today).days
    dates = [today + timedelta(days=day) for day in range(number)]
    whole = [float(max(0.0, minutes(when))) for when in dates]
    if whole:
        whole[-1] /= 2
        whole[0] = max(0.0, whole[0] - spent)
    fixed = rehearsals(whole)
    taper = number - taper_of(number)
    slots = []
    for day, (when, length) in enumerate(zip(dates, whole, strict=True)):
        name, taken = fixed.get(day, ("", 0))
        if day == 0 and name in rehearsed:
            name, taken = "", 0
        rest = Day(60 * (length - taken), day >= taper, day == number - 1)
        slots.append(Slot(when, length, name, taken, rest))
    return slots


def rehearsals(minutes: Sequence[float]) -> dict[int, tuple[str, int]]:
    """Which days hold a mock interview or an incident, and for how many minutes.

    Counted back from the interview, so that they stay where they are when the plan is made anew: the last
    mock three days before, then one a week, an incident between two; with less than 30 minutes a day they
    take turns. What falls on a day that is too short moves to one of the six days before.
    """
    working = [length for length in minutes[:-1] if length > 0]
    if not working:
        return {}
    last = max(0, len(minutes) - LAST_MOCK_DAYS)
    often = sum(working) / len(working) >= _WEEKLY_FROM
    gap, incident = (7, 3) if often else (14, 7)
    found: dict[int, tuple[str, int]] = {}
    for start, name in ((last, MOCK), (last - incident, INCIDENT)):
        for wanted in range(start, -1, -gap):
            for day in range(wanted, max(-1, wanted - 7), -1):
                length = _length(name, minutes[day])
                if length and day not in found:
                    found[day] = (name, length)
                    break
    return found


def _length(name: str, minutes: float) -> int:
    """How long a rehearsal on a day may be: at most half of it, but at least the shortest; 0: none fits."""
    if name == INCIDENT:
        return INCIDENT_MINUTES if minutes >= INCIDENT_MINUTES else 0
    fitting = [length for length in MOCK_LENGTHS if length <= max(MOCK_LENGTHS[0], minutes / 2)]
    return fitting[-1] if minutes >= fitting[-1] else 0
