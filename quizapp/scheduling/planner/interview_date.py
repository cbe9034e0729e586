"""Reads the day of an interview as people write it."""

import re
from datetime import date, timedelta

from quizapp.errors import QuizError

MOST_DAYS = 365
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30}
_SPAN = re.compile(r"(?:in )?(\d{1,4}) ?(day|week|month)s?")


def read_interview_date(text: str, today: date) -> date | None:
    """The day that a text names, such as 2026-12-24 or 3 weeks; None if it is empty.

    Raises ``QuizError`` if it names no day, or none that can be planned for.
    """
    words = " ".join(text.casefold().split())
    if not words:
        return None
    span = _SPAN.fullmatch(words)
    try:
        until = (
            today + timedelta(days=int(span[1]) * _UNIT_DAYS[span[2]]) if span else date.fromisoformat(words)
        )
    except (ValueError, OverflowError):
        raise QuizError(f"{text.strip()!r} is not a day; write one such as 2026-12-24, or 3 weeks.") from None
    check_interview_date(until, today, str(until))
    return until


def check_interview_date(until: date, today: date, name: str) -> None:
    """Raise ``QuizError`` unless a plan can reach that day; the sentence calls it ``name``."""
    if until <= today:
        when = "today" if until == today else "past"
        raise QuizError(f"{name}: that is {when}; name the day of the interview, tomorrow or later")
    if (until - today).days > MOST_DAYS:
        raise QuizError(f"{name}: a plan covers at most {MOST_DAYS} days; name an earlier day")
