# fails: 5
# message: patience
import math
from collections.abc import Sequence


def step_decay(step: int, base_lr: float, milestones: Sequence[int], gamma: float = 0.1) -> float:
    """The rate at ``step`` when every milestone multiplies it by ``gamma``."""
    if step < 0:
        raise ValueError("step must not be negative")
    return base_lr * gamma ** sum(milestone <= step for milestone in milestones)


def cosine_restarts(step: int, base_lr: float, period: int, mult: int = 1, min_lr: float = 0.0) -> float:
    """The rate at ``step`` of a cosine that restarts, each cycle ``mult`` times as long as the last."""
    if step < 0:
        raise ValueError("step must not be negative")
    if period < 1:
        raise ValueError("period must be at least 1")
    if mult < 1:
        raise ValueError("mult must be at least 1")
    position, length = step, period
    while position >= length:
        position -= length
        length *= mult
    return min_lr + (base_lr - min_lr) * (1 + math.cos(math.pi * position / length)) / 2


class ReduceOnPlateau:
    """Reduces ``lr`` when a metric (lower is better) has not improved for more than ``patience`` steps."""

    def __init__(
        self,
        lr: float,
        factor: float = 0.1,
        patience: int = 5,
        min_lr: float = 0.0,
        threshold: float = 0.0,
    ) -> None:
        if not 0 < factor < 1:
            raise ValueError("factor must lie in (0, 1)")
        if patience < 0:
            raise ValueError("patience must not be negative")
        if threshold < 0:
            raise ValueError("threshold must not be negative")
        self.lr = lr
        self.factor = factor
        self.patience = patience
        self.min_lr = min_lr
        self.threshold = threshold
        self.best = math.inf
        self.bad_steps = 0

    def step(self, metric: float) -> float:
        """Take one value of the metric and return the rate to use next."""
        if metric < self.best - self.threshold:
            self.best = metric
            self.bad_steps = 0
        else:
            self.bad_steps += 1
        if self.bad_steps > self.patience:
            self.lr = max(self.lr * self.factor, self.min_lr)
            self.bad_steps = 0
        return self.lr
