import math
from typing import Sequence


class ScheduleError(ValueError):
    """A schedule cannot have these arguments."""


def step_decay(step: int, base_lr: float, milestones: Sequence[int], gamma: float = 0.1) -> float:
    if step < 0:
        raise ScheduleError("step")
    lr = base_lr
    for milestone in milestones:
        if step >= milestone:
            lr *= gamma
    return lr


def cosine_restarts(step: int, base_lr: float, period: int, mult: int = 1, min_lr: float = 0.0) -> float:
    if step < 0:
        raise ScheduleError("step")
    if period < 1:
        raise ScheduleError("period")
    if mult < 1:
        raise ScheduleError("mult")
    remaining = step
    length = period
    while True:
        if remaining < length:
            break
        remaining = remaining - length
        length = length * mult
    return min_lr + 0.5 * (base_lr - min_lr) * (1.0 + math.cos(remaining / length * math.pi))


class ReduceOnPlateau:
    def __init__(
        self, lr: float, factor: float = 0.1, patience: int = 10, min_lr: float = 0.0, threshold: float = 0.0
    ) -> None:
        if factor <= 0.0:
            raise ScheduleError("factor must be positive")
        if factor >= 1.0:
            raise ScheduleError("factor must be below 1")
        if patience < 0:
            raise ScheduleError("patience")
        if threshold < 0.0:
            raise ScheduleError("threshold")
        self.lr = float(lr)
        self.factor = factor
        self.patience = patience
        self.min_lr = min_lr
        self.threshold = threshold
        self.best = None
        self.num_bad = 0

    def is_better(self, metric: float) -> bool:
        if math.isnan(metric):
            return False
        if self.best is None:
            return True
        return self.best - metric > self.threshold

    def step(self, metric: float) -> float:
        if self.is_better(metric):
            self.best = metric
            self.num_bad = 0
            return self.lr
        self.num_bad += 1
        if self.num_bad <= self.patience:
            return self.lr
        self.num_bad = 0
        reduced = self.lr * self.factor
        self.lr = reduced if reduced > self.min_lr else float(self.min_lr)
        return self.lr
