"""The score of an interview: marks, dimensions, total, interval and band.

All arithmetic is exact (fractions). A mark is rounded once, half up, at the question.
"""

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

from quizapp.interview.report.model import Band, BandResult, DimensionMark
from quizapp.interview.scoring.arithmetic import DIMENSIONS, Term, half_up
from quizapp.interview.session.question import InterviewQuestion

LEVEL_LIMITS = (40, 60, 80)
STRONG_ABOVE = 15
DRAWS, DRAW_SEED = 10_000, 20_260_101
INTERVAL = (10, 90)


def mark_of(terms: Sequence[Term]) -> int:
    """The mark of a question, 0 to 100. Terms that take marks away never make it negative."""
    return half_up(max(Fraction(0), sum((term.points for term in terms), Fraction(0))))


def mean_mark(rows: Sequence[tuple[int, int]]) -> int:
    """The mean mark of (planned seconds, mark) rows, weighted by the seconds; 0 without rows."""
    seconds = sum(planned for planned, _ in rows)
    return half_up(Fraction(sum(planned * mark for planned, mark in rows), seconds)) if seconds else 0


def dimensions(scored: Sequence[tuple[InterviewQuestion, Sequence[Term]]]) -> dict[str, DimensionMark]:
    """Group the terms of all questions by dimension, weighted by planned time.

    Dimensions in which nothing could be earned are left out.
    """
    scores = {}
    for name in DIMENSIONS:
        rows = [(item.planned, term) for item, terms in scored for term in terms if term.dimension == name]
        possible = sum((planned * max(Fraction(0), term.weight) for planned, term in rows), Fraction(0))
        if possible:
            earned = sum((planned * term.points for planned, term in rows), Fraction(0))
            percent = half_up(100 * max(Fraction(0), earned) / possible)
            scores[name] = DimensionMark(percent, level_of(percent))
    return scores


def level_of(percent: int) -> int:
    """Return 1 below 40, 2 below 60, 3 below 80, else 4."""
    return 1 + sum(percent >= limit for limit in LEVEL_LIMITS)


def interval(rows: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the 80 % interval of the total by a percentile bootstrap.

    Each of the 10,000 samples draws as many (planned seconds, mark) rows as there are, with replacement.
    """
    if not rows:
        return 0, 0
    rng = random.Random(DRAW_SEED)  # noqa: S311 - must give the same interval on every machine
    totals = []
    for _ in range(DRAWS):
        sample = rng.choices(rows, k=len(rows))
        seconds = sum(planned for planned, _ in sample)
        # This rounds half up in integers, which spares this hot loop the fractions of `half_up`.
        totals.append((2 * sum(planned * mark for planned, mark in sample) + seconds) // (2 * seconds))
    totals.sort()
    low, high = (totals[min(DRAWS - 1, DRAWS * percent // 100)] for percent in INTERVAL)
    return low, high


def band(total: int, pass_mark: int, dims: Mapping[str, DimensionMark]) -> BandResult:
    """Compare a total with the pass mark. A dimension at level 1 keeps any total below it."""
    weak = [name for name, row in dims.items() if row.level == 1]
    if total >= pass_mark and weak:
        names = " and ".join(weak)
        return BandResult(Band.BELOW, f"{total} reaches the pass mark {pass_mark}, but {names} is at level 1")
    if total >= pass_mark + STRONG_ABOVE:
        return BandResult(Band.STRONG, f"{total} is at least {pass_mark} + {STRONG_ABOVE}")
    if total >= pass_mark:
        return BandResult(Band.PASS, f"{total} is at least the pass mark {pass_mark}")
    return BandResult(Band.BELOW, f"{total} is below the pass mark {pass_mark}")
