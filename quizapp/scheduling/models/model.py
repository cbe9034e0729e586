"""What every memory model has in common: its name and weights, and its memory of a card."""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import blake2b
from math import isfinite
from typing import NamedTuple, Protocol

from quizapp.scheduling.cards import NEW


class ModelName(StrEnum):
    """The memory models. The values are stored in the log, so they must stay as they are."""

    FSRS_6 = "FSRS-6"
    FSRS_7 = "FSRS-7"


# The defaults of fsrs 6.3, copied because importing the package just to read them takes 10 ms.
FSRS_6_WEIGHTS = (
    0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796,
    1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
)  # fmt: skip
# The published defaults of fsrs-rs at c9562d6 (inference_v7.rs), which are those of srs-benchmark at b4b0254.
FSRS_7_WEIGHTS = (
    0.1104, 2.2395, 3.9221, 11.7841, 6.1686, 0.6457, 3.6807,
    1.9795, 0.0, 1.3826, 0.7024, 0.5999, 0.8146, 0.6398, 1.0,
    1.3207, 0.6707, 3.8668, 0.4416, 0.0934, 1.8631, 0.6162, 1.0869,
    0.1567, 0.0801, 0.2421, 0.9464, 0.1433, 0.7145, 0.0, 0.5667, 0.3734, 0.5333, 0.3048,
)  # fmt: skip
# The ranges of the weights in ts-fsrs (constants.ts at 2f84037). Weights 0 to 3 must also not fall, and
# weight 26 must not be below weight 25.
FSRS_7_BOUNDS = (
    (0.0001, 50.0), (0.0001, 100.0), (0.0001, 100.0), (0.0001, 100.0), (1.0, 10.0), (0.001, 4.0), (0.1, 4.0),
    (0.0, 4.0), (0.0, 1.2), (0.3, 3.0), (0.01, 1.5), (0.1, 1.0), (0.0, 3.5), (0.0, 1.0), (1.0, 7.0),
    (0.0, 4.0), (0.0, 2.0), (0.5, 6.0), (0.001, 1.5), (0.001, 1.0), (0.0, 5.0), (0.0, 1.0), (1.0, 7.0),
    (0.01, 0.25), (0.01, 0.95), (0.2, 0.85), (0.5, 0.99), (0.01, 1.0), (0.1, 1.0), (0.0, 0.9), (0.1, 1.1),
    (0.0, 1.0), (0.0, 0.6), (0.0, 0.6),
)  # fmt: skip
AUTO = "auto"
"""The value of the setting with which the program chooses the model."""
DEFAULT_WEIGHTS = {ModelName.FSRS_6: FSRS_6_WEIGHTS, ModelName.FSRS_7: FSRS_7_WEIGHTS}


class MemoryModel(NamedTuple):
    """A memory model: its name and its weights (21 for FSRS-6, 34 for FSRS-7)."""

    name: ModelName = ModelName.FSRS_6
    weights: tuple[float, ...] = FSRS_6_WEIGHTS

    @classmethod
    def default(cls, name: ModelName) -> "MemoryModel":
        """A model with its published weights."""
        return cls(name, DEFAULT_WEIGHTS[name])

    @property
    def version(self) -> str:
        """Name and fingerprint of the weights; every review stores it."""
        digest = blake2b(",".join(map(repr, self.weights)).encode(), digest_size=4).hexdigest()
        return f"{self.name}/{'default' if self.weights == DEFAULT_WEIGHTS[self.name] else digest}"


DEFAULT_MODEL = MemoryModel()


class Memory(NamedTuple):
    """A model's memory of a card: state, learning step, stability in days, difficulty from 1 to 10.

    FSRS-7 keeps a second stability, ``fast``, and the time of the last review, ``last`` (UTC ms).
    """

    state: int = NEW.value
    step: int | None = None
    stability: float = 0.0
    difficulty: float = 0.0
    last_day: int = 0
    interval: int = 0  # seconds promised after the last review
    fast: float = 0.0
    last: int = 0


class MemoryFormulas(Protocol):
    """The arithmetic of a model with one set of weights."""

    real_time: bool
    """Whether the model counts the time that has really passed; otherwise it counts study days."""

    def review(self, memory: Memory, rating: int, day: int, steps: bool, time: int) -> Memory:
        """The memory after a review on a study day at ``time`` (UTC ms, 0 where only the day is known)."""

    def elapsed(self, memory: Memory, day: int, time: int) -> float:
        """The days since the last review as the model counts them."""

    def retrievability(self, memory: Memory, elapsed: float) -> float:
        """The chance of recall ``elapsed`` days after the last review; 0 for a card never seen."""

    def ideal_interval(self, memory: Memory, retention: float) -> float:
        """Days until the chance of recall falls to ``retention``, unrounded."""


def forced_model(setting: str) -> ModelName | None:
    """The model that the learner's setting asks for; None for "auto", which leaves the choice to the log."""
    return None if setting == AUTO else ModelName(setting)


def model_from(name: object, weights: object) -> MemoryModel | None:
    """The model that an event of the log names; None if this program cannot use it.

    A newer program on another device may have written a model or a number of weights unknown here.
    """
    if name not in list(ModelName) or not isinstance(weights, list):
        return None
    if not all(type(weight) in {int, float} and isfinite(weight) for weight in weights):
        return None
    model = MemoryModel(ModelName(str(name)), tuple(weights))
    return model if _fits(model) else None


def _fits(model: MemoryModel) -> bool:
    """Whether the number of weights is right, and for FSRS-7 their range."""
    if model.name is ModelName.FSRS_6:
        return len(model.weights) == len(FSRS_6_WEIGHTS)
    return len(model.weights) == len(FSRS_7_BOUNDS) and all(
        low <= weight <= high for weight, (low, high) in zip(model.weights, FSRS_7_BOUNDS, strict=True)
    )


def check_weights(name: ModelName, weights: Sequence[float]) -> tuple[float, ...]:
    """The weights as a tuple. Raises ``ValueError`` if their number or range is wrong."""
    checked = tuple(float(value) for value in weights)
    if name is ModelName.FSRS_6:
        import fsrs

        fsrs.Scheduler(parameters=checked)
    elif not _fits(MemoryModel(name, checked)):
        raise ValueError(f"{name} has {len(FSRS_7_BOUNDS)} weights, each within its range")
    return checked
