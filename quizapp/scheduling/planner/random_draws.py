"""Chance that repeats itself: draws by card and repetition, and how first days with a card go."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from random import Random

from quizapp.scheduling.planner.fsrs_math import FsrsFormulas

DRAWS = 16
"""Numbers for each row of `draws`; later repetitions begin again at the first."""
FIRSTS = 128
# Answers in the learning steps by the answer before (Again, Hard, Good): shares of Again, Hard, Good, Easy
# with which fsrs-rs 6 simulates two steps.
_STEPS = {
    1: (0.3686, 0.0628, 0.5108, 0.0577),
    2: (0.0442, 0.4553, 0.4457, 0.0549),
    3: (0.0519, 0.0470, 0.8462, 0.0550),
}
_MOST_ANSWERS = 8


@lru_cache(maxsize=64)
def draws(seed: int, rows: int) -> list[list[float]]:
    """Uniform numbers in [0, 1): a row for each card or exercise, a number for each repetition."""
    rng = Random(seed)  # noqa: S311 - a course that can be simulated again, not a secret
    return [[rng.random() for _ in range(DRAWS)] for _ in range(rows)]


def firsts(formulas: FsrsFormulas, shares: Sequence[float]) -> list[tuple[float, float, int]]:
    """What first days make of a new card: (stability, difficulty, answers), all alike likely.

    ``shares`` are those of Again, Hard, Good, Easy for the first answer.
    """
    rng = Random(0)  # noqa: S311
    bounds = list(accumulate(shares))
    found = []
    for number in range(FIRSTS):
        at = (number + 0.5) / FIRSTS * bounds[-1]
        rating = 1 + sum(at >= bound for bound in bounds[:-1])
        found.append(_first_day(formulas, rating, rng))
    return found


def _first_day(formulas: FsrsFormulas, rating: int, rng: Random) -> tuple[float, float, int]:
    stability, difficulty = formulas.first(rating)
    answers, step = 1, int(rating == 3)
    while rating != 4 and step < 2 and answers < _MOST_ANSWERS:
        (rating,) = rng.choices((1, 2, 3, 4), _STEPS[rating])
        stability, difficulty = formulas.after(stability, difficulty, 0, rating)
        answers += 1
        step = 0 if rating == 1 else step + (rating == 3)
    return stability, difficulty, answers
