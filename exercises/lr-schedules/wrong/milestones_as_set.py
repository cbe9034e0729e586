# fails: 10
# message: a milestone listed twice counts twice
import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import count


def step_decay(step, base_lr, milestones, gamma=0.1):
    if step < 0:
        raise ValueError("step")
    return base_lr * math.pow(gamma, bisect_right(sorted(set(milestones)), step))


def cosine_restarts(step, base_lr, period, mult=1, min_lr=0.0):
    if step < 0 or period < 1 or mult < 1:
        raise ValueError("argument")
    if mult == 1:
        t, length = step % period, period
    else:
        t, length = step, period
        while t >= length:
            t -= length
            length *= mult
    return min_lr + (base_lr - min_lr) * math.cos(math.pi * t / (2 * length)) ** 2


@dataclass
class ReduceOnPlateau:
    lr: float
    factor: float = 0.1
    patience: int = 10
    min_lr: float = 0.0
    threshold: float = 0.0

    def __post_init__(self):
        if not 0 < self.factor < 1 or self.patience < 0 or self.threshold < 0:
            raise ValueError("argument")
        self._best = math.inf
        self._seen = False
        self._bad = 0

    def step(self, metric):
        good = not math.isnan(metric) and (not self._seen or metric < self._best - self.threshold)
        if good:
            self._best, self._bad, self._seen = metric, 0, True
        else:
            self._bad += 1
        if self._bad > self.patience:
            self.lr = max(self.lr * self.factor, self.min_lr)
            self._bad = 0
        return self.lr
