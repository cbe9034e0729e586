"""FSRS-6 from the ``fsrs`` package, extended by study days.

The package counts elapsed time in blocks of 24 hours. Here it receives the midnight of each study day, so
it counts study days. Its own intervals and its own fuzz are not used.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from quizapp.scheduling.cards import NEW
from quizapp.scheduling.models.model import Memory
from quizapp.scheduling.models.steps import LEARNING_STEPS, RELEARNING_STEPS

if TYPE_CHECKING:
    import fsrs

STABILITY = (0.001, 36500.0)


@lru_cache(maxsize=4096)
def _date(day: int) -> datetime:
    return datetime.fromordinal(max(day, 1)).replace(tzinfo=UTC)


class Fsrs6:
    """FSRS-6 with one set of 21 weights."""

    real_time = False

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = tuple(weights)
        self._decay = -self._weights[20]
        self._factor = 0.9 ** (1 / self._decay) - 1
        self._packages: dict[bool, fsrs.Scheduler] = {}
        self._states: dict[int, fsrs.State] = {}
        self._ratings: dict[int, fsrs.Rating] = {}

    def _package(self, steps: bool) -> "fsrs.Scheduler":
        if steps not in self._packages:
            import fsrs  # takes 10 ms, and showing a card does not need it

            # Looked up here, because a call of an enumeration for each review slows a replay.
            self._states = {state.value: state for state in fsrs.State} | {NEW: fsrs.State.Learning}
            self._ratings = {rating.value: rating for rating in fsrs.Rating}
            self._packages[steps] = fsrs.Scheduler(
                parameters=self._weights,
                learning_steps=[timedelta(seconds=s) for s in LEARNING_STEPS] if steps else [],
                relearning_steps=[timedelta(seconds=s) for s in RELEARNING_STEPS] if steps else [],
                enable_fuzzing=False,
            )
        return self._packages[steps]

    def review(self, memory: Memory, rating: int, day: int, steps: bool, time: int) -> Memory:
        """The memory after a review on a study day."""
        del time  # this model counts study days, not hours
        package = self._package(steps)
        import fsrs

        day = max(day, memory.last_day)  # travel to the west can turn the calendar back
        new = memory.state == NEW
        # An explicit card_id, because Card() without one sleeps a millisecond.
        card = fsrs.Card(
            card_id=0,
            state=self._states[memory.state],
            step=0 if new else memory.step,
            stability=None if new else memory.stability,
            difficulty=None if new else memory.difficulty,
            due=_date(day),
            last_review=None if new else _date(memory.last_day),
        )
        after, _ = package.review_card(card, self._ratings[rating], _date(day))
        assert after.stability is not None
        assert after.difficulty is not None
        stability = min(max(after.stability, STABILITY[0]), STABILITY[1])
        return Memory(after.state.value, after.step, stability, after.difficulty, day)

    def elapsed(self, memory: Memory, day: int, time: int) -> float:
        """Study days since the last review."""
        del time
        return max(0, day - memory.last_day)

    def retrievability(self, memory: Memory, elapsed: float) -> float:
        """The FSRS-6 forgetting curve, scaled so that it is 0.9 when ``elapsed`` equals the stability."""
        if memory.stability <= 0:
            return 0.0
        return float((1 + self._factor * max(0, elapsed) / memory.stability) ** self._decay)

    def ideal_interval(self, memory: Memory, retention: float) -> float:
        """Days until retrievability falls to ``retention``, unrounded."""
        return float(memory.stability / self._factor * (retention ** (1 / self._decay) - 1))
