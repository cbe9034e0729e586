"""Turns a model's memory of a card into the interval that each rating would give it.

The intervals, their order and their fuzz are the same for both models; only the memory differs.
"""

from typing import NamedTuple

from quizapp.scheduling.cards import REVIEW, Rating
from quizapp.scheduling.models.fsrs6 import Fsrs6
from quizapp.scheduling.models.fsrs7 import Fsrs7
from quizapp.scheduling.models.fuzz import fuzz_sample, fuzzed
from quizapp.scheduling.models.model import DEFAULT_MODEL, Memory, MemoryFormulas, MemoryModel, ModelName
from quizapp.scheduling.models.steps import step_seconds
from quizapp.scheduling.study_day import DAY_S

# The ratings whose outcomes are needed for one interval: each passing rating waits longer than those below
# it, so its interval depends on theirs.
_NEEDED = {
    Rating.AGAIN: (Rating.AGAIN,),
    Rating.HARD: (Rating.HARD,),
    Rating.GOOD: (Rating.HARD, Rating.GOOD),
    Rating.EASY: tuple(Rating),
}


class RatingOutcome(NamedTuple):
    """The effect of a rating on a card: its memory, and the interval in seconds to the next review."""

    memory: Memory
    interval: int


def formulas_of(model: MemoryModel) -> MemoryFormulas:
    """The arithmetic of a model."""
    return Fsrs7(model.weights) if model.name is ModelName.FSRS_7 else Fsrs6(model.weights)


class Scheduler:
    """A memory model at work. ``steps=False`` skips the learning steps, as exercises need it."""

    def __init__(self, model: MemoryModel = DEFAULT_MODEL) -> None:
        self.model = model
        self.version = model.version
        self.formulas = formulas_of(model)
        self.elapsed = self.formulas.elapsed
        self.retrievability = self.formulas.retrievability
        self.ideal_interval = self.formulas.ideal_interval
        self.real_time = self.formulas.real_time
        self._recent: dict[tuple[Memory, int, int, bool, int], Memory] = {}

    def review(self, memory: Memory, rating: int, day: int, steps: bool = True, time: int = 0) -> Memory:
        """The memory after a review on a study day at ``time`` (``interval`` is left for the caller).

        ``time`` is in UTC ms, 0 where only the day is known.
        """
        # Real times differ from review to review, so that a replay would look up every review in vain. Cards
        # that are counted in study days often share their memory, above all new ones.
        if self.real_time and not self._recent:
            return self.formulas.review(memory, rating, day, steps, time)
        return self._kept_review(memory, rating, day, steps, time)

    def _kept_review(self, memory: Memory, rating: int, day: int, steps: bool, time: int) -> Memory:
        key = (memory, rating, day, steps, time if self.real_time else 0)
        after = self._recent.get(key)
        if after is None:
            if len(self._recent) >= 64:  # enough for the buttons of the cards on screen
                self._recent.clear()
            after = self._recent[key] = self.formulas.review(*key)
        return after

    def outcomes(
        self,
        memory: Memory,
        day: int,
        *,
        card: str,
        repetition: int,
        retention: float,
        most: int,
        steps: bool = True,
        cap: int | None = None,
        up_to: Rating = Rating.EASY,
        time: int = 0,
    ) -> dict[Rating, RatingOutcome]:
        """The effect that each rating would have on the card now.

        ``most`` is the longest interval in days and ``cap`` a shorter limit for this review only. For a
        graduated card Hard waits at least 1 day, Good longer than Hard, and Easy longer than Good. Fuzz never
        shortens an interval that the model lengthens. ``up_to`` leaves out the better ratings, to save time.
        """
        sample = fuzz_sample(card, repetition)
        most = max(1, most if cap is None else min(most, cap))
        before = memory.interval // DAY_S if memory.state == REVIEW else 0
        outcomes: dict[Rating, RatingOutcome] = {}
        floor = 1
        for rating in _NEEDED[up_to]:
            after = self._kept_review(memory, rating, day, steps, time)
            if after.state != REVIEW:
                seconds = step_seconds(after.state, after.step, rating)
            else:
                ideal = self.ideal_interval(after, retention)
                # Where the model lengthens the interval, fuzz must not make it shorter than the last one.
                least = 1 if rating is Rating.Again else floor
                if rating is not Rating.Again and int(ideal + 0.5) > before:
                    least = max(least, before + 1)
                # At the limit the passing ratings may share an interval: there is no room to order them.
                days = fuzzed(ideal, sample, min(least, most), most)
                if rating is not Rating.Again:
                    floor = days + 1
                seconds = days * DAY_S
            outcomes[rating] = RatingOutcome(after._replace(interval=seconds), seconds)
        return outcomes
