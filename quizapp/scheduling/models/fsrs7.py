"""FSRS-7: a slow and a fast memory trace, whose forgetting curves are mixed, in fractional days.

The formulas are those that ts-fsrs publishes under MIT (docs/guide/model/fsrs-7 at 00840cb) and fsrs-rs
computes (model_v7.rs at 114caff). The names follow the documentation: slow stability, fast stability,
difficulty. Neither stability is an interval of 90 % recall, so intervals are found numerically.
"""

from collections.abc import Sequence
from math import exp, log

from quizapp.scheduling.cards import NEW
from quizapp.scheduling.models.model import Memory
from quizapp.scheduling.models.steps import next_step

DAY_MS = 86_400_000
STABILITY = (0.0001, 36500.0)
DIFFICULTY = (1.0, 10.0)
SLOW, FAST = 7, 15
"""The index of the first of the eight weights that change each stability."""
FAST_SHARE = 0.8
"""The fast stability after a first rating or a lapse, as a share of the slow one."""
_EDGE = 1e-5  # recall stays this far from 0 and 1
_DECAY = (0.01, 0.95)
_MOST_HALVINGS = 200

Trace = tuple[float, float, float]
"""Slow stability, difficulty, fast stability."""


def _clamp(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return low if value < low else min(value, high)


class Fsrs7:
    """FSRS-7 with one set of 34 weights."""

    real_time = True

    def __init__(self, weights: Sequence[float]) -> None:
        self._w = w = tuple(weights)
        self._slow_decay = -_clamp(w[24], _DECAY)
        self._slow_factor = w[26] ** (1 / self._slow_decay) - 1
        self._fast_log = log(w[25])
        self._easiest = w[4] - exp(w[5] * 3) + 1

    def review(self, memory: Memory, rating: int, day: int, steps: bool, time: int) -> Memory:
        """The memory after a review at ``time`` (UTC ms), or on a study day if ``time`` is 0."""
        if memory.state == NEW:
            slow, difficulty, fast = self.first(rating)
        else:
            trace = (memory.stability, memory.difficulty, memory.fast)
            slow, difficulty, fast = self.after(trace, self.elapsed(memory, day, time), rating)
        state, step = next_step(memory.state, memory.step, rating, steps)
        # Travel or a clock that was set back must not make time run backward.
        day, last = max(day, memory.last_day), max(time, memory.last)
        return Memory(state, step, slow, difficulty, day, 0, fast, last)

    def elapsed(self, memory: Memory, day: int, time: int) -> float:
        """Days since the last review by the clock; study days where one of the times is unknown."""
        if time and memory.last:
            return max(0.0, (time - memory.last) / DAY_MS)
        return float(max(0, day - memory.last_day))

    def retrievability(self, memory: Memory, elapsed: float) -> float:
        """The chance of recall; 0 for a card never seen."""
        if memory.stability <= 0:
            return 0.0
        return self.recall((memory.stability, memory.difficulty, memory.fast), elapsed)

    def ideal_interval(self, memory: Memory, retention: float) -> float:
        """Days until the chance of recall falls to ``retention``, unrounded."""
        return self.interval((memory.stability, memory.difficulty, memory.fast), retention)

    def first(self, rating: int) -> Trace:
        """The memory after the very first answer."""
        w = self._w
        slow = _clamp(w[rating - 1], STABILITY)
        difficulty = w[4] - exp(w[5] * (rating - 1)) + 1
        return slow, _clamp(difficulty, DIFFICULTY), _clamp(FAST_SHARE * slow, STABILITY)

    def _fast_recall(self, fast: float, elapsed: float) -> float:
        w = self._w
        decay = -_clamp(w[23] * fast ** (w[33] - 0.3), _DECAY)
        factor = exp(min(self._fast_log / decay, 60.0)) - 1
        return float((1 + factor * elapsed / fast) ** decay)

    def _mix(self, trace: Trace, elapsed: float, fast_recall: float) -> float:
        w = self._w
        slow, difficulty, fast = trace
        hardness = difficulty - 5
        factor = self._slow_factor * exp(hardness * (w[32] - 0.3))
        slow_recall = (1 + factor * elapsed / slow) ** self._slow_decay
        fast_weight = w[27] * fast ** -w[29]
        slow_weight = w[28] * slow ** w[30] * exp(hardness * (w[31] - 0.5))
        mean = (fast_weight * fast_recall + slow_weight * slow_recall) / (fast_weight + slow_weight)
        return float(mean * (1 - 2 * _EDGE) + _EDGE)

    def recall(self, trace: Trace, elapsed: float) -> float:
        """The mixed forgetting curve: the chance of recall ``elapsed`` days after the last review."""
        elapsed = max(0.0, elapsed)
        return self._mix(trace, elapsed, self._fast_recall(trace[2], elapsed))

    def interval(self, trace: Trace, retention: float, close_enough: float = 1e-9) -> float:
        """Days until the chance of recall falls to ``retention``; at most 36,500.

        The curve only falls, so the interval is bracketed and then narrowed by Newton steps on the logarithm
        of time, with halving where a step would leave the bracket. ``close_enough`` is the last step.
        """
        shortest, longest = 1 / 86_400, STABILITY[1]
        if self.recall(trace, shortest) <= retention:  # within a second
            return 0.0
        if self.recall(trace, longest) >= retention:
            return longest
        low, high = log(shortest), log(longest)
        at = min(max(log(max(trace[0], trace[2])), low), high)
        for _ in range(_MOST_HALVINGS):
            chance, slope = self._chance_and_slope(trace, exp(at))
            low, high = (at, high) if chance > retention else (low, at)
            nearer = at - (chance - retention) / slope if slope < -1e-12 else low
            nearer = nearer if low < nearer < high else (low + high) / 2
            if abs(nearer - at) < close_enough:
                return exp(nearer)
            at = nearer
        return exp(at)

    def _chance_and_slope(self, trace: Trace, elapsed: float) -> tuple[float, float]:
        """The chance of recall, and its derivative by the logarithm of time."""
        w = self._w
        slow, difficulty, fast = trace
        hardness = difficulty - 5
        fast_decay = -_clamp(w[23] * fast ** (w[33] - 0.3), _DECAY)
        fast_rate = (exp(min(self._fast_log / fast_decay, 60.0)) - 1) * elapsed / fast
        slow_rate = self._slow_factor * exp(hardness * (w[32] - 0.3)) * elapsed / slow
        fast_weight = w[27] * fast ** -w[29]
        slow_weight = w[28] * slow ** w[30] * exp(hardness * (w[31] - 0.5))
        fast_part = fast_weight * (1 + fast_rate) ** fast_decay
        slow_part = slow_weight * (1 + slow_rate) ** self._slow_decay
        scale = (1 - 2 * _EDGE) / (fast_weight + slow_weight)
        slope = fast_part * fast_decay * fast_rate / (1 + fast_rate)
        slope += slow_part * self._slow_decay * slow_rate / (1 + slow_rate)
        return (fast_part + slow_part) * scale + _EDGE, slope * scale

    def after(self, trace: Trace, elapsed: float, rating: int) -> Trace:
        """The memory after a review ``elapsed`` days behind the one before."""
        w = self._w
        slow, difficulty, fast = trace
        elapsed = max(0.0, elapsed)
        fast_recall = self._fast_recall(fast, elapsed)
        recall = self._mix(trace, elapsed, fast_recall)
        new_slow = self._changed(slow, recall, difficulty, rating, SLOW)
        new_fast = self._changed(fast, fast_recall, difficulty, rating, FAST)
        change = -w[6] * (rating - 3)
        if rating == 1:
            new_fast = min(new_fast, FAST_SHARE * new_slow)
            change *= recall + 0.1
        new_difficulty = 0.01 * self._easiest + 0.99 * (difficulty + (10 - difficulty) / 9 * change)
        return _clamp(new_slow, STABILITY), _clamp(new_difficulty, DIFFICULTY), _clamp(new_fast, STABILITY)

    def _changed(self, stability: float, recall: float, difficulty: float, rating: int, first: int) -> float:
        """A stability after a review; ``first`` is the index of the first of its eight weights."""
        w = self._w
        growth, fade, surprise, lapse, lapse_power, lapse_surprise, hard, easy = w[first : first + 8]
        forgotten = 1 - recall
        lapsed = lapse * ((stability + 1) ** lapse_power - 1) * exp(forgotten * lapse_surprise)
        lapsed = min(stability, lapsed)
        if rating == 1:
            return float(lapsed)
        gain = exp(growth - 1.5) * (11 - difficulty) * stability**-fade * (exp(forgotten * surprise) - 1)
        gain *= hard if rating == 2 else easy if rating == 4 else 1.0
        return float(max(lapsed, stability * (1 + gain)))
