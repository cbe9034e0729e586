"""FSRS-6 as bare arithmetic, for the many thousand reviews that a plan simulates.

The schedule itself goes by way of the ``fsrs`` package (`quizapp.scheduling.fsrs`); the tests hold the two
together. Formulas: FSRS-6 as in fsrs 6.3, elapsed time in whole study days.
"""

from collections.abc import Callable, Sequence
from math import exp

from quizapp.scheduling.fsrs import STABILITY

Memory = tuple[float, float]
"""Stability in days and difficulty from 1 to 10."""


class FsrsFormulas:
    """The arithmetic for one set of 21 weights.

    ``after(stability, difficulty, elapsed, rating)`` is the memory after a review ``elapsed`` days behind the
    one before; on the same day stability follows the short-term formula.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = tuple(weights)
        self.decay = -weights[20]
        self.factor = float(0.9 ** (1 / self.decay) - 1)
        self.after = _after(self.weights, self.factor)

    def __reduce__(self) -> tuple[type["FsrsFormulas"], tuple[tuple[float, ...]]]:
        """Pickle the weights alone, because the functions made from them cannot be pickled."""
        return FsrsFormulas, (self.weights,)

    def recall(self, stability: float, elapsed: float) -> float:
        """The chance of recall ``elapsed`` days after the last review; 0 for a card never seen."""
        if stability <= 0:
            return 0.0
        return float((1 + self.factor * max(0.0, elapsed) / stability) ** self.decay)

    def first(self, rating: int) -> Memory:
        """The memory after the very first answer."""
        w = self.weights
        difficulty = w[4] - exp(w[5] * (rating - 1)) + 1
        return min(max(w[rating - 1], STABILITY[0]), STABILITY[1]), min(max(difficulty, 1.0), 10.0)

    def stretch(self, retention: float) -> float:
        """Interval over stability at which the chance of recall has fallen to ``retention``."""
        return float((retention ** (1 / self.decay) - 1) / self.factor)


def _after(w: Sequence[float], factor: float) -> Callable[[float, float, int, int], Memory]:
    """`Formulas.after` with its constants bound: this is called a million times in a search."""
    low, high = STABILITY
    decay = -w[20]
    growth, fade, surprise = exp(w[8]), -w[9], w[10]
    scale = (0.0, 0.0, w[15], 1.0, w[16])  # by rating: hard penalty, easy bonus
    again = exp(w[17] * w[18])
    short = [0.0] + [exp(w[17] * (rating - 3 + w[18])) for rating in range(1, 5)]
    short_fade = -w[19]
    home = w[7] * (w[4] - exp(w[5] * 3) + 1)  # difficulty drifts toward that of a first Easy
    keep = 1 - w[7]
    step = [0.0] + [-w[6] * (rating - 3) / 9 for rating in range(1, 5)]

    def after(stability: float, difficulty: float, elapsed: int, rating: int) -> Memory:
        if elapsed < 1:
            rise = short[rating] * stability**short_fade
            new = stability * (rise if rating == 1 or rise > 1.0 else 1.0)
        else:
            lost = 1 - (1 + factor * elapsed / stability) ** decay
            if rating == 1:
                new = w[11] * difficulty ** -w[12] * ((stability + 1) ** w[13] - 1) * exp(lost * w[14])
                new = min(new, stability / again)
            else:
                rise = growth * (11 - difficulty) * stability**fade * (exp(lost * surprise) - 1)
                new = stability * (1 + rise * scale[rating])
        difficulty = home + keep * (difficulty + (10 - difficulty) * step[rating])
        return (
            low if new < low else min(new, high),
            1.0 if difficulty < 1.0 else min(difficulty, 10.0),
        )

    return after
