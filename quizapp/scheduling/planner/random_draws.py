"""Random numbers that repeat: samples by card and repetition, and samples of a card's first day."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from random import Random

from quizapp.scheduling.planner.fsrs_math import STEP_DAYS, PlanFormulas, PlanMemory

SAMPLES = 16
"""Numbers for each row of `draws`; later repetitions start again at the first."""
FIRST_DAYS = 128
# Answers in the learning steps by the answer before (Again, Hard, Good): shares of Again, Hard, Good, Easy
# with which fsrs-rs 6 simulates two steps.
_STEPS = {
    1: (0.3686, 0.0628, 0.5108, 0.0577),
    2: (0.0442, 0.4553, 0.4457, 0.0549),
    3: (0.0519, 0.0470, 0.8462, 0.0550),
}
_MOST_ANSWERS = 8


@lru_cache(maxsize=64)
def uniform_samples(seed: int, rows: int) -> list[list[float]]:
    """Uniform numbers in [0, 1): a row for each card or exercise, a number for each repetition."""
    rng = Random(seed)  # noqa: S311 - a run must be repeatable; nothing here is a secret
    return [[rng.random() for _ in range(SAMPLES)] for _ in range(rows)]


def sample_first_days(formulas: PlanFormulas, shares: Sequence[float]) -> list[tuple[PlanMemory, int]]:
    """Sample what the first day makes of a new card: (memory, answers), equally likely.

    ``shares`` are those of Again, Hard, Good, Easy for the first answer.
    """
    rng = Random(0)  # noqa: S311
    bounds = list(accumulate(shares))
    samples = []
    for number in range(FIRST_DAYS):
        at = (number + 0.5) / FIRST_DAYS * bounds[-1]
        rating = 1 + sum(at >= bound for bound in bounds[:-1])
        samples.append(_first_day(formulas, rating, rng))
    return samples


def _first_day(formulas: PlanFormulas, rating: int, rng: Random) -> tuple[PlanMemory, int]:
    memory = formulas.first(rating)
    answers, step = 1, int(rating == 3)
    while rating != 4 and step < 2 and answers < _MOST_ANSWERS:
        (rating,) = rng.choices((1, 2, 3, 4), _STEPS[rating])
        memory = formulas.after(memory, STEP_DAYS, rating)
        answers += 1
        step = 0 if rating == 1 else step + (rating == 3)
    return memory, answers
