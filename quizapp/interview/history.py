"""Compares a new interview with earlier ones: the comparison, the pooled total, and the weak topics."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction

from quizapp.interview.report.model import (
    Comparison,
    EarlierTotal,
    MarkedQuestion,
    PooledTotal,
    Report,
    WeakTopic,
)
from quizapp.interview.scoring.arithmetic import half_up

HALF_LIFE_DAYS = 14
WINDOW_DAYS = 30
SETTLED = 3
MOST_COMPARED = 3


def comparable(role: str, round_name: str, report_id: str, past: Iterable[Report]) -> list[Report]:
    """The reports of the same role and round in the order given, without the one with this id."""
    return [
        report
        for report in past
        if (report.role, report.round_name) == (role, round_name) and report.id != report_id
    ]


def comparison(total: int, earlier: Sequence[Report]) -> Comparison:
    """Compare a total with the last three interviews of its role and round (``earlier``, newest first)."""
    rows = [
        EarlierTotal(
            report.id,
            report.started,
            report.minutes,
            report.totals.raw,
            {name: row.percent for name, row in report.dimensions.items()},
        )
        for report in earlier[:MOST_COMPARED]
    ]
    if not rows:
        return Comparison([], None)
    mean = Fraction(sum(row.total for row in rows), len(rows))
    return Comparison(rows, half_up(total - mean))


def pooled(end: datetime, totals: Iterable[tuple[datetime, int]]) -> PooledTotal:
    """Return the weighted mean of the (start, total) pairs as of ``end``.

    The weight of a total halves every 14 days of age. The result is provisional if fewer than three of the
    interviews began in the last 30 days.
    """
    weights = weighted_sum = Fraction(0)
    recent = 0
    for started, total in totals:
        days = max(0, (end - started).days)
        weight = Fraction(1, 2) ** (days // HALF_LIFE_DAYS) * _fraction_of_half_life(days % HALF_LIFE_DAYS)
        weights += weight
        weighted_sum += weight * total
        recent += days <= WINDOW_DAYS
    return PooledTotal(half_up(weighted_sum / weights), recent, recent < SETTLED)


def _fraction_of_half_life(days: int) -> Fraction:
    # The last bits of a float power differ between platforms, and a stored report must give the same total
    # on each of them: round to six decimals.
    return Fraction(round(1_000_000 * 0.5 ** (days / HALF_LIFE_DAYS)), 1_000_000)


def weak_topics(questions: Iterable[MarkedQuestion]) -> list[WeakTopic]:
    """The topics in which marks were lost, the one with the most lost marks first."""
    by_topic: dict[str, list[MarkedQuestion]] = {}
    for question in questions:
        by_topic.setdefault(question.asked.topic, []).append(question)
    rows = []
    for topic, group in by_topic.items():
        seconds = sum(question.asked.planned for question in group)
        lost = sum(question.lost for question in group)
        rows.append(WeakTopic(topic, len(group), round(100 - lost / seconds, 1), lost))
    return sorted(rows, key=lambda row: (-row.lost, row.topic))
