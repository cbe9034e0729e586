# fails: 8
# message: rate that it keeps
from math import cos, pi


def step_decay(step, base_lr, milestones, gamma=0.1):
    if step < 0:
        raise ValueError("step")
    return base_lr * gamma ** sum(m <= step for m in milestones)


def cosine_restarts(step, base_lr, period, mult=1, min_lr=0.0):
    if step < 0 or period < 1 or mult < 1:
        raise ValueError("arguments")
    t, T = step, period
    while t >= T:
        t, T = t - T, T * mult
    return min_lr + (base_lr - min_lr) * (1 + cos(pi * t / T)) / 2


class ReduceOnPlateau:
    def __init__(self, lr, factor=0.1, patience=10, min_lr=0.0, threshold=0.0):
        if not 0 < factor < 1 or patience < 0 or threshold < 0:
            raise ValueError("arguments")
        self.lr, self.factor, self.patience, self.min_lr, self.threshold = (
            lr,
            factor,
            patience,
            min_lr,
            threshold,
        )
        self.best, self.bad = float("inf"), 0

    def step(self, metric):
        old = self.lr
        if metric < self.best - self.threshold:
            self.best, self.bad = metric, 0
        else:
            self.bad += 1
            if self.bad > self.patience:
                self.lr, self.bad = max(self.lr * self.factor, self.min_lr), 0
        return old
