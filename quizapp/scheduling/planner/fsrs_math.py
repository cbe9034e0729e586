"""The memory models as bare arithmetic, for the many thousand reviews that a plan simulates.

The schedule itself computes FSRS-6 by way of the ``fsrs`` package (`quizapp.scheduling.models.fsrs6`); the
tests hold the two together. A plan knows only whole days, so it counts them under both models.
"""

from collections.abc import Callable, Sequence
from math import exp
from typing import Protocol

from quizapp.scheduling.cards import CardRow
from quizapp.scheduling.models.fsrs6 import STABILITY
from quizapp.scheduling.models.fsrs7 import Fsrs7
from quizapp.scheduling.models.model import MemoryModel, ModelName

PlanMemory = tuple[float, ...]
"""The memory of a card: stability in days, difficulty from 1 to 10, and under FSRS-7 the fast stability."""
UNSEEN: PlanMemory = ()
"""The memory of a card never seen."""
STEP_DAYS = 600 / 86_400
"""How long after an answer a learning step asks again, in days."""
_CLOSE_ENOUGH = 1e-3  # of an interval, as a share: a plan rounds to days anyway


class PlanFormulas(Protocol):
    """The arithmetic of one memory model with one set of weights."""

    def first(self, rating: int) -> PlanMemory:
        """The memory after the very first answer."""

    def after(self, memory: PlanMemory, elapsed: float, rating: int) -> PlanMemory:
        """The memory after a review ``elapsed`` days behind the one before."""

    def recall(self, memory: PlanMemory, elapsed: float) -> float:
        """The chance of recall ``elapsed`` days after the last review; 0 for a card never seen."""

    def interval(self, memory: PlanMemory, retention: float) -> float:
        """Days until the chance of recall falls to ``retention``, unrounded."""


def plan_formulas(model: MemoryModel) -> PlanFormulas:
    """The arithmetic of a model."""
    return Fsrs7Formulas(model.weights) if model.name is ModelName.FSRS_7 else FsrsFormulas(model.weights)


def plan_memory(row: CardRow) -> PlanMemory:
    """A card's memory as the model left it."""
    if not row.state:
        return UNSEEN
    return (row.stability, row.difficulty, row.fast) if row.fast else (row.stability, row.difficulty)


class Fsrs7Formulas:
    """FSRS-7 with one set of 34 weights."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._model = Fsrs7(weights)

    def first(self, rating: int) -> PlanMemory:
        """The memory after the very first answer."""
        return self._model.first(rating)

    def after(self, memory: PlanMemory, elapsed: float, rating: int) -> PlanMemory:
        """The memory after a review ``elapsed`` days behind the one before."""
        slow, difficulty, fast = memory
        return self._model.after((slow, difficulty, fast), elapsed, rating)

    def recall(self, memory: PlanMemory, elapsed: float) -> float:
        """The chance of recall ``elapsed`` days after the last review; 0 for a card never seen."""
        if not memory:
            return 0.0
        slow, difficulty, fast = memory
        return self._model.recall((slow, difficulty, fast), elapsed)

    def interval(self, memory: PlanMemory, retention: float) -> float:
        """Days until the chance of recall falls to ``retention``, unrounded."""
        slow, difficulty, fast = memory
        return self._model.interval((slow, difficulty, fast), retention, _CLOSE_ENOUGH)


class FsrsFormulas:
    """FSRS-6 with one set of 21 weights; on the same day stability follows the short-term formula."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = tuple(weights)
        self.decay = -weights[20]
        self.factor = float(0.9 ** (1 / self.decay) - 1)
        self.after = _after(self.weights, self.factor)

    def __reduce__(self) -> tuple[type["FsrsFormulas"], tuple[tuple[float, ...]]]:
        """Pickle the weights alone, because the functions made from them cannot be pickled."""
        return FsrsFormulas, (self.weights,)

    def recall(self, memory: PlanMemory, elapsed: float) -> float:
        """The chance of recall ``elapsed`` days after the last review; 0 for a card never seen."""
        if not memory:
            return 0.0
        return float((1 + self.factor * max(0.0, elapsed) / memory[0]) ** self.decay)

    def first(self, rating: int) -> PlanMemory:
        """The memory after the very first answer."""
        w = self.weights
        difficulty = w[4] - exp(w[5] * (rating - 1)) + 1
        return min(max(w[rating - 1], STABILITY[0]), STABILITY[1]), min(max(difficulty, 1.0), 10.0)

    def interval(self, memory: PlanMemory, retention: float) -> float:
        """Days until the chance of recall falls to ``retention``, unrounded."""
        return float(memory[0] * (retention ** (1 / self.decay) - 1) / self.factor)


def _after(w: Sequence[float], factor: float) -> Callable[[PlanMemory, float, int], PlanMemory]:
    """`FsrsFormulas.after` with its constants bound: this is called a million times in a search."""
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

    def after(memory: PlanMemory, elapsed: float, rating: int) -> PlanMemory:
        stability, difficulty = memory
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
