"""The terms of a mark: exact shares of weights, from which all figures of a report follow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

DIMENSIONS = ("correctness", "depth", "code", "debugging", "clarity and time")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a mark: ``share`` of ``weight`` was earned; ``how`` says from what.

    A negative weight takes marks away and adds nothing to what could be earned.
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
    """Rounded to the nearest whole number, halves up."""
    return int((value + Fraction(1, 2)).__floor__())


def own_check(*, ran: bool) -> str:
    """Say whether the learner ran a check before the first submission, which is what the mark counts."""
    return f"{'a' if ran else 'no'} check of your own before the first submission"


def time_share(used_ms: int, budget_s: int, *, sure: bool) -> Fraction:
    """1 from 30 % of the budget to all of it, down to 0 at 150 %; below 30 % only if the answer is right."""
    budget = 1000 * budget_s
    if budget <= 0:
        return Fraction(0)
    if 10 * used_ms < 3 * budget:
        return Fraction(int(sure))
    if used_ms <= budget:
        return Fraction(1)
    return max(Fraction(0), 1 - Fraction(2 * (used_ms - budget), budget))


def weighted(points: Iterable[Mapping[str, Any]], kind: str) -> Fraction | None:
    """Sum of weight times held over the sum of weights of one kind; None without such points."""
    rows = [(int(p["weight"]), Fraction(p["held"])) for p in points if p["kind"] == kind]
    total = sum(weight for weight, _ in rows)
    return sum((weight * held for weight, held in rows), Fraction(0)) / total if total else None
