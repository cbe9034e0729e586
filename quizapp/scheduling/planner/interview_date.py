"""Reads the day of an interview as people write it."""

import re
from datetime import date, timedelta

from quizapp.errors import QuizError

MOST_DAYS = 365
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30}
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(_WORDS, 1)}
_SPAN = re.compile(rf"(?:in )?(?:(\d{{1,4}}) ?|({'|'.join(_NUMBERS)}) )(day|week|month)s?")


def read_interview_date(text: str, today: date) -> date | None:
    """The day that a text names, such as 2026-12-24 or 3 weeks; None if it is empty.

    Raises ``QuizError`` if it names no day, or none that can be planned for.
    """
    if not text.strip():
        return None
    until = named_day(text, today)
    check_interview_date(until, today, str(until))
    return until


def named_day(text: str, today: date) -> date:
    """The day that a text names, such as 2026-12-24, 3 weeks or in three weeks.

    Raises ``QuizError`` if it names no day.
    """
    words = " ".join(text.casefold().split())
    span = _SPAN.fullmatch(words)
    try:
        return (
            today + timedelta(days=(_NUMBERS.get(span[2]) or int(span[1])) * _UNIT_DAYS[span[3]])
            if span
            else date.fromisoformat(words)
        )
    except (ValueError, OverflowError):
        raise QuizError(f"{text.strip()!r} is not a day; write one such as 2026-12-24, or 3 weeks.") from None


def check_interview_date(until: date, today: date, name: str) -> None:
    """Raise ``QuizError`` unless a plan can reach that day; the sentence calls it ``name``."""
    if until <= today:
        when = "today" if until == today else "past"
        raise QuizError(f"{name}: that is {when}; name the day of the interview, tomorrow or later")
    if (until - today).days > MOST_DAYS:
        raise QuizError(f"{name}: a plan covers at most {MOST_DAYS} days; name an earlier day")
