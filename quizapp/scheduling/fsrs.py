"""FSRS-6 from the ``fsrs`` package, extended by study days, reproducible fuzz and ordered intervals.

The package counts elapsed time in blocks of 24 hours. Here it receives the midnight of each study day, so
it counts study days. Its own intervals and its own fuzz are not used.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from quizapp.scheduling.cards import LEARNING, NEW, REVIEW, Rating
from quizapp.scheduling.study_day import DAY_S

if TYPE_CHECKING:
    import fsrs

MODEL = "FSRS-6"
# The defaults of fsrs 6.3, copied because importing the package just to read them takes 10 ms.
DEFAULT_WEIGHTS = (
    0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796,
    1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
)  # fmt: skip
STABILITY = (0.001, 36500.0)
LEARNING_STEPS = (60, 600)
RELEARNING_STEPS = (600,)
# (from, to, share): fuzz widens its range by this share of the part of an interval between these days.
_FUZZ_RANGES = ((2.5, 7.0, 0.15), (7.0, 20.0, 0.10), (20.0, float("inf"), 0.05))
# The ratings whose outcomes are needed for one interval: each passing rating waits longer than those below
# it, so its interval depends on theirs.
_NEEDED = {
    Rating.AGAIN: (Rating.AGAIN,),
    Rating.HARD: (Rating.HARD,),
    Rating.GOOD: (Rating.HARD, Rating.GOOD),
    Rating.EASY: tuple(Rating),
}


class MemoryModel(NamedTuple):
    """A memory model: its name and its weights (21 for FSRS-6)."""

    name: str = MODEL
    weights: tuple[float, ...] = DEFAULT_WEIGHTS

    @property
    def version(self) -> str:
        """Name and fingerprint of the weights; every review stores it."""
        digest = blake2b(",".join(map(repr, self.weights)).encode(), digest_size=4).hexdigest()
        return f"{self.name}/{'default' if self.weights == DEFAULT_WEIGHTS else digest}"


DEFAULT_MODEL = MemoryModel()


class Memory(NamedTuple):
    """The model's memory of a card: state, learning step, stability in days, difficulty from 1 to 10."""

    state: int = NEW.value
    step: int | None = None
    stability: float = 0.0
    difficulty: float = 0.0
    last_day: int = 0
    interval: int = 0  # seconds promised after the last review


class RatingOutcome(NamedTuple):
    """The effect of a rating on a card: its memory, and the interval in seconds to the next review."""

    memory: Memory
    interval: int


@lru_cache(maxsize=4096)
def _date(day: int) -> datetime:
    return datetime.fromordinal(max(day, 1)).replace(tzinfo=UTC)


class Scheduler:
    """FSRS with one set of weights. ``steps=False`` skips the learning steps, as exercises need it."""

    def __init__(self, model: MemoryModel = DEFAULT_MODEL) -> None:
        self.model = model
        self.version = model.version
        self._decay = -model.weights[20]
        self._factor = 0.9 ** (1 / self._decay) - 1
        self._packages: dict[bool, fsrs.Scheduler] = {}
        self._recent: dict[tuple[Memory, int, int, bool], Memory] = {}

    def _package(self, steps: bool) -> "fsrs.Scheduler":
        if steps not in self._packages:
            import fsrs  # takes 10 ms, and showing a card does not need it

            self._packages[steps] = fsrs.Scheduler(
                parameters=self.model.weights,
                learning_steps=[timedelta(seconds=s) for s in LEARNING_STEPS] if steps else [],
                relearning_steps=[timedelta(seconds=s) for s in RELEARNING_STEPS] if steps else [],
                enable_fuzzing=False,
            )
        return self._packages[steps]

    def review(self, memory: Memory, rating: int, day: int, steps: bool = True) -> Memory:
        """The memory after a review on a study day (``interval`` is left for the caller)."""
        key = (memory, rating, day, steps)
        after = self._recent.get(key)
        if after is None:
            if len(self._recent) >= 64:  # enough for the buttons of the cards on screen
                self._recent.clear()
            after = self._recent[key] = self._review(*key)
        return after

    def _review(self, memory: Memory, rating: int, day: int, steps: bool) -> Memory:
        package = self._package(steps)
        import fsrs

        day = max(day, memory.last_day)  # travel to the west can turn the calendar back
        new = memory.state == NEW
        # An explicit card_id, because Card() without one sleeps a millisecond.
        card = fsrs.Card(
            card_id=0,
            state=fsrs.State.Learning if new else fsrs.State(memory.state),
            step=0 if new else memory.step,
            stability=None if new else memory.stability,
            difficulty=None if new else memory.difficulty,
            due=_date(day),
            last_review=None if new else _date(memory.last_day),
        )
        after, _ = package.review_card(card, fsrs.Rating(rating), _date(day))
        assert after.stability is not None
        assert after.difficulty is not None
        stability = min(max(after.stability, STABILITY[0]), STABILITY[1])
        return Memory(after.state.value, after.step, stability, after.difficulty, day)

    def retrievability(self, stability: float, elapsed: int) -> float:
        """The chance of recall ``elapsed`` study days after the last review.

        The FSRS-6 forgetting curve, scaled so that it is 0.9 when ``elapsed`` equals the stability.
        """
        if stability <= 0:
            return 0.0
        return float((1 + self._factor * max(0, elapsed) / stability) ** self._decay)

    def ideal_interval(self, stability: float, retention: float) -> float:
        """Days until retrievability falls to ``retention``, unrounded."""
        return float(stability / self._factor * (retention ** (1 / self._decay) - 1))

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
    ) -> dict[Rating, RatingOutcome]:
        """The effect that each rating would have on the card now.

        ``most`` is the longest interval in days and ``cap`` a shorter limit for this review only. For a
        graduated card Hard waits at least 1 day, Good longer than Hard, and Easy longer than Good. Fuzz never
        shortens an interval that FSRS lengthens. ``up_to`` leaves out the better ratings, to save time.
        """
        sample = fuzz_sample(card, repetition)
        most = max(1, most if cap is None else min(most, cap))
        before = memory.interval // DAY_S if memory.state == REVIEW else 0
        outcomes: dict[Rating, RatingOutcome] = {}
        floor = 1
        for rating in _NEEDED[up_to]:
            after = self.review(memory, rating, day, steps)
            if after.state != REVIEW:
                seconds = _step_seconds(after, rating)
            else:
                ideal = self.ideal_interval(after.stability, retention)
                # Where FSRS lengthens the interval, fuzz must not make it shorter than the last one.
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


def _step_seconds(after: Memory, rating: Rating) -> int:
    """Seconds to wait in a learning or relearning step.

    Hard on the first step waits for the mean of the first two steps, or half as long again if there is one.
    """
    steps = LEARNING_STEPS if after.state == LEARNING else RELEARNING_STEPS
    step = min(after.step or 0, len(steps) - 1)
    if rating is Rating.Hard and step == 0:
        return (steps[0] + steps[1]) // 2 if len(steps) > 1 else steps[0] * 3 // 2
    return steps[step]


def check_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """The weights as a tuple. Raises ``ValueError`` if their number or range is wrong."""
    import fsrs

    checked = tuple(float(value) for value in weights)
    fsrs.Scheduler(parameters=checked)
    return checked


def seed_of(card: str, repetition: int, purpose: str = "") -> int:
    """A 32-bit number that depends only on the arguments, so every replay and device agrees on it."""
    digest = blake2b(f"{purpose}\0{card}\0{repetition}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def fuzz_sample(card: str, repetition: int) -> float:
    """The number in [0, 1) that decides the fuzz of one repetition of a card."""
    return seed_of(card, repetition, "fuzz") / 2**32


def fuzz_bounds(interval: float, least: int, most: int) -> tuple[int, int]:
    """The shortest and the longest interval in days that fuzz may choose for ``interval``.

    Below 2.5 days there is no fuzz. Above, the range extends each way by 1 day, plus 15 % of the part between
    2.5 and 7 days, 10 % of the part between 7 and 20, and 5 % of the rest. Both bounds are possible results.
    This is Anki's rule.
    """
    least = min(least, most)
    interval = min(max(interval, least), most)
    if interval < 2.5:
        days = _round_half_up(interval)
        return days, days
    delta = 1.0 + sum(share * max(min(interval, end) - start, 0.0) for start, end, share in _FUZZ_RANGES)
    low = min(max(_round_half_up(interval - delta), least), most)
    high = min(max(_round_half_up(interval + delta), least), most)
    if high == low and 2 < high < most:
        high = low + 1
    return low, high


def fuzzed(interval: float, sample: float, least: int, most: int) -> int:
    """The interval in days after fuzz; ``sample`` is uniform in [0, 1)."""
    low, high = fuzz_bounds(interval, least, most)
    return int(low + sample * (high - low + 1))


def _round_half_up(value: float) -> int:
    return int(value + 0.5)  # round() would turn 2.5 into 2: it rounds halves to even
