"""Caps on the marks of an incident for whoever did not diagnose it.

Words can be pasted, and all readings can be bought. So words alone earn little, and so does everything
without a conclusion or with the conclusion that a broken run is healthy.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from quizapp.incidents.model import NO_FAULT
from quizapp.interview.scoring.arithmetic import DIMENSIONS, Term
from quizapp.interview.session.question import InterviewQuestion

CAP_WORDS, CAP_NO_DIAGNOSIS, CAP_CONTRADICTED = 10, 15, 30
CAPPED_SINCE = 2
"""The version of an incident's rules from which on these caps hold."""


def diagnosis_caps(item: InterviewQuestion, words: Sequence[Term], others: Sequence[Term]) -> list[Term]:
    """The caps on an incident's terms, of which ``words`` are earned by what was typed.

    Without a named cause or a reading, words earn at most 10 of 100. Without a named cause, and with "no
    fault" for a broken run, everything does at most 15, and at most 30 with a fault for a healthy run or a
    cause that a reading excludes which was taken. Stored questions of older rules have no caps.
    """
    if item.incident_rules < CAPPED_SINCE:
        return []
    cause = item.diagnosis.cause
    caps: list[Term] = []
    lacking = [] if cause else ["no cause named"]
    lacking += [] if item.bought else ["no reading taken"]
    if lacking:
        caps += capped(words, CAP_WORDS, f"{' and '.join(lacking)}: at most {CAP_WORDS} for words")
    return [*caps, *conclusion_cap(item, [*words, *others, *caps])]


def conclusion_cap(item: InterviewQuestion, terms: Sequence[Term]) -> list[Term]:
    """The cap on all of an incident's terms where the conclusion does not follow from the readings."""
    why, most = _wrong_end(item)
    return list(capped(terms, most, f"{why}: at most {most} in all")) if why else []


def _wrong_end(item: InterviewQuestion) -> tuple[str, int]:
    """Why a diagnosis does not follow from the readings, and how many marks are left; "" if it may."""
    asked, cause = item.incident, item.diagnosis.cause
    if not cause:
        return "no cause named", CAP_NO_DIAGNOSIS
    if cause == NO_FAULT and not asked.false_alarm:
        return "a broken run called healthy", CAP_NO_DIAGNOSIS
    if asked.false_alarm and cause != NO_FAULT:
        return "a fault named in a healthy run", CAP_CONTRADICTED
    excluded_by = next((row.rejected_by for row in asked.causes if row.id == cause), [])
    if cause != asked.cause and any(row.reading in excluded_by for row in item.bought):
        return "the cause named is excluded by a reading that was taken", CAP_CONTRADICTED
    return "", 0


def capped(terms: Sequence[Term], most: int, how: str) -> Iterator[Term]:
    """Return terms that bring the sum of others down to ``most``, each dimension in proportion."""
    earned = sum((term.points for term in terms), Fraction(0))
    if earned <= most:
        return
    for dimension in DIMENSIONS:
        part = sum((term.points for term in terms if term.dimension == dimension), Fraction(0))
        if part:
            yield Term("cap", dimension, part * (most / earned - 1), Fraction(1), how)
