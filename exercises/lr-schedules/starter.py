"""Three learning-rate schedules: steps, warm restarts, plateau."""

from collections.abc import Sequence


def step_decay(
    step: int,
    base_lr: float,
    milestones: Sequence[int],
    gamma: float = 0.1,
) -> float:
    """The rate at ``step`` when every milestone multiplies it by ``gamma``."""
    raise NotImplementedError


def cosine_restarts(
    step: int,
    base_lr: float,
    period: int,
    mult: int = 1,
    min_lr: float = 0.0,
) -> float:
    """The rate at ``step`` of a cosine that restarts, each cycle ``mult`` times
    as long as the last.
    """
    raise NotImplementedError


class ReduceOnPlateau:
    """Reduces ``lr`` when a metric (lower is better) has not improved for more
    than ``patience`` steps.
    """

    lr: float

    def __init__(
        self,
        lr: float,
        factor: float = 0.1,
        patience: int = 10,
        min_lr: float = 0.0,
        threshold: float = 0.0,
    ) -> None:
        raise NotImplementedError

    def step(self, metric: float) -> float:
        """Take one value of the metric and return the rate to use next."""
        raise NotImplementedError
