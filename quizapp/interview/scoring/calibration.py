"""Measures how far marks can be trusted: generous self-marking, confidence, agreement of two markings."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from quizapp.interview.report.model import Calibration, ConfidenceBin, MarkedQuestion, TopicInflation
from quizapp.interview.scoring.arithmetic import half_up

SHRINK = 10  # with this many questions of each kind, half of the observed inflation counts
ADJUSTMENT_LIMIT = 15
LEAST_ANSWERS = 8  # with fewer answers, the calibration of a topic is mostly noise
CONFIDENCES = (0, 25, 50, 75, 100)
HELD_LEVELS = (0.0, 0.5, 1.0)


def inflation(questions: Iterable[MarkedQuestion]) -> dict[str, TopicInflation]:
    """Add up self-marked and machine-marked questions by topic, sorted by topic."""
    table: dict[str, TopicInflation] = {}
    for question in questions:
        row = table.setdefault(question.asked.topic, TopicInflation())
        if question.in_words:
            row.self_sum += question.marks.total
            row.self_n += 1
        else:
            row.machine_sum += question.marks.total
            row.machine_n += 1
    for row in table.values():
        row.inflation = round(float(inflation_of(row)), 2)
    return dict(sorted(table.items()))


def inflation_of(row: TopicInflation) -> Fraction:
    """Return the self-marked mean minus the machine-marked mean, shrunk by n / (n + 10).

    n is the smaller of the two counts. The result is 0 if one kind of mark is missing.
    """
    number = min(row.self_n, row.machine_n)
    if not number:
        return Fraction(0)
    gap = Fraction(row.self_sum, row.self_n) - Fraction(row.machine_sum, row.machine_n)
    return gap * Fraction(number, number + SHRINK)


def adjusted(total: int, questions: Sequence[MarkedQuestion], table: dict[str, TopicInflation]) -> int:
    """Subtract the inflation of the self-marked questions from the total, changing it by at most 15."""
    seconds = sum(question.asked.planned for question in questions)
    if not seconds:
        return total
    excess = Fraction(0)
    for question in questions:
        if question.in_words and question.marks.reached and question.asked.topic in table:
            excess += question.asked.planned * inflation_of(table[question.asked.topic])
    excess = max(Fraction(-ADJUSTMENT_LIMIT), min(Fraction(ADJUSTMENT_LIMIT), excess / seconds))
    return max(0, min(100, half_up(total - excess)))


def calibration(questions: Iterable[MarkedQuestion]) -> Calibration:
    """Compare confidence with marks.

    For the Brier score, the outcome of a question is its mark as a fraction. ``bias`` is mean confidence
    minus mean mark in percentage points, so a positive bias means overconfidence.
    """
    pairs = [
        (question.asked.confidence, question.marks.total)
        for question in questions
        if question.asked.confidence is not None
    ]
    bins = []
    for level in CONFIDENCES:
        marks = [mark for confidence, mark in pairs if confidence == level]
        mean = round(sum(marks) / len(marks), 1) if marks else None
        bins.append(ConfidenceBin(level, len(marks), mean))
    if not pairs:
        return Calibration(0, None, None, bins)
    brier = Fraction(sum((c - m) ** 2 for c, m in pairs), 10_000 * len(pairs))
    bias = Fraction(sum(c - m for c, m in pairs), len(pairs))
    return Calibration(len(pairs), round(float(brier), 4), round(float(bias), 1), bins)


def topic_calibration(questions: Iterable[MarkedQuestion]) -> dict[str, Calibration]:
    """Calibrate each topic that has at least eight answers with a confidence, sorted by topic."""
    by_topic: dict[str, list[MarkedQuestion]] = {}
    for question in questions:
        by_topic.setdefault(question.asked.topic, []).append(question)
    rows = {topic: calibration(group) for topic, group in sorted(by_topic.items())}
    return {topic: row for topic, row in rows.items() if row.items >= LEAST_ANSWERS}


def kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Cohen's kappa with quadratic weights over the levels none, half and full.

    Source: J. Cohen, "Weighted kappa", Psychological Bulletin 70 (1968). The result is None without pairs,
    or if chance alone explains the agreement.
    """
    number = len(pairs)
    if not number:
        return None
    observed = sum((a - b) ** 2 for a, b in pairs) / number
    firsts = [sum(a == level for a, _ in pairs) / number for level in HELD_LEVELS]
    seconds = [sum(b == level for _, b in pairs) / number for level in HELD_LEVELS]
    expected = sum(
        p * q * (a - b) ** 2
        for a, p in zip(HELD_LEVELS, firsts, strict=True)
        for b, q in zip(HELD_LEVELS, seconds, strict=True)
    )
    return round(1 - observed / expected, 3) if expected else None
