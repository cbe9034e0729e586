"""Learning and relearning steps: the waits of minutes before a card's first interval of a day."""

from quizapp.scheduling.cards import LEARNING, NEW, RELEARNING, REVIEW, Rating

LEARNING_STEPS = (60, 600)
RELEARNING_STEPS = (600,)


def next_step(state: int, step: int | None, rating: int, steps: bool) -> tuple[int, int | None]:
    """The state and step of a card after a rating; ``steps`` is False for cards that have none.

    These are the rules that the ``fsrs`` package applies for FSRS-6: Again goes back to the first step, Hard
    repeats the step, Good goes on to the next one, Easy leaves the steps.
    """
    if not steps:
        return REVIEW.value, None
    if state == REVIEW:
        return (RELEARNING.value, 0) if rating == Rating.AGAIN else (REVIEW.value, None)
    state = LEARNING.value if state == NEW else state
    waits = LEARNING_STEPS if state == LEARNING else RELEARNING_STEPS
    current = step or 0
    if rating == Rating.AGAIN:
        return state, 0
    done = (
        rating == Rating.EASY
        or current >= len(waits)
        or (rating == Rating.GOOD and current + 1 >= len(waits))
    )
    if done:
        return REVIEW.value, None
    return state, current + (rating == Rating.GOOD)


def step_seconds(state: int, step: int | None, rating: int) -> int:
    """Seconds to wait in a learning or relearning step.

    Hard on the first step waits for the mean of the first two steps, or half as long again if there is one.
    """
    waits = LEARNING_STEPS if state == LEARNING else RELEARNING_STEPS
    current = min(step or 0, len(waits) - 1)
    if rating == Rating.HARD and current == 0:
        return (waits[0] + waits[1]) // 2 if len(waits) > 1 else waits[0] * 3 // 2
    return waits[current]
