"""The arithmetic of marks: terms as exact shares of weights, and rounding.

All figures of a report follow from terms. Caps and prices are terms with a negative weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from quizapp.interview.marking.model import PointMark, WordsMarking
from quizapp.interview.session.question import InterviewQuestion

DIMENSIONS = ("correctness", "depth", "code", "debugging", "clarity and time")
CORRECTNESS, DEPTH, CODE, DEBUGGING, CLARITY = DIMENSIONS


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a mark: the ``share`` of ``weight`` that was earned. ``how`` explains the share.

    A negative weight takes marks away and does not change how much could be earned.
    """

    name: str
    dimension: str
    weight: Fraction
    share: Fraction
    how: str

    @property
    def points(self) -> Fraction:
        """What it adds to the mark."""
        return self.weight * self.share


def half_up(value: Fraction) -> int:
    """Round to the nearest integer, halves up, unlike ``round``, which rounds halves to even."""
    return int((value + Fraction(1, 2)).__floor__())


def time_share(used_ms: int, budget_s: int, *, sure: bool) -> Fraction:
    """The share for time: 1 up to the budget, then falling linearly to 0 at 150 % of it.

    An answer in less than 30 % of the budget gets 1 if it is ``sure`` to be right, else 0: a quick wrong
    answer must not earn marks for speed.
    """
    budget = 1000 * budget_s
    if budget <= 0:
        return Fraction(0)
    if 10 * used_ms < 3 * budget:
        return Fraction(int(sure))
    if used_ms <= budget:
        return Fraction(1)
    return max(Fraction(0), 1 - Fraction(2 * (used_ms - budget), budget))


def weighted_share(points: Sequence[PointMark], kind: str = "") -> Fraction | None:
    """The weighted mean of ``held`` over the points of one kind, or of all; None without such points."""
    rows = [(point.weight, Fraction(point.held)) for point in points if not kind or point.kind == kind]
    total = sum(weight for weight, _ in rows)
    return sum((weight * held for weight, held in rows), Fraction(0)) / total if total else None


def time_term(item: InterviewQuestion, weight: Fraction, right: Fraction, *, empty: bool) -> Term:
    """The term for time. ``right`` is the share of the answer that is right; an ``empty`` one earns 0."""
    share = time_share(item.used_ms, item.budget, sure=right >= Fraction(8, 10))
    how = f"{item.used_ms / 1000:.1f} s of {item.budget} s"
    return Term("time", CLARITY, weight, Fraction(0) if empty else share, how)


def share_of(part: int, whole: int) -> Fraction:
    """``part`` of ``whole``, 0 of nothing."""
    return Fraction(part, whole) if whole else Fraction(0)


def less_misconceptions(share: Fraction | None, stated: int) -> Fraction:
    """A share less 0.1 for each misconception stated, never below 0."""
    return max(Fraction(0), (share or Fraction(0)) - Fraction(stated, 10))


def stated_wrong(marking: WordsMarking) -> int:
    """How many misconceptions an answer states."""
    return sum(row.stated for row in marking.misconceptions)


def less_text(stated: int) -> str:
    """Explain a share of key points in words."""
    return f"key points held, less 0.1 for each of {stated} wrong"
