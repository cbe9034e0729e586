# fails: 11
# message: A metric of -inf is below the best
import math


def step_decay(step, base_lr, milestones, gamma=0.1):
    if step < 0:
        raise ValueError("step must not be negative")
    lr = base_lr
    for m in milestones:
        if step >= m:
            lr = lr * gamma
    return lr


def cosine_restarts(step, base_lr, period, mult=1, min_lr=0.0):
    if step < 0:
        raise ValueError("step")
    if period < 1:
        raise ValueError("period")
    if mult < 1:
        raise ValueError("mult")
    t = step
    length = period
    while t >= length:
        t -= length
        length *= mult
    return min_lr + (base_lr - min_lr) * (1 + math.cos(math.pi * t / length)) / 2


class ReduceOnPlateau:
    def __init__(self, lr, factor=0.1, patience=10, min_lr=0.0, threshold=0.0):
        if factor <= 0 or factor >= 1:
            raise ValueError("factor")
        if patience < 0:
            raise ValueError("patience")
        if threshold < 0:
            raise ValueError("threshold")
        self.lr = lr
        self.factor = factor
        self.patience = patience
        self.min_lr = min_lr
        self.threshold = threshold
        self.best = math.inf
        self.bad = 0
        self.seen = False

    def step(self, metric):
        if math.isfinite(metric) and (not self.seen or metric < self.best - self.threshold):
            self.seen = True
            self.best = metric
            self.bad = 0
        else:
            self.bad += 1
            if self.bad > self.patience:
                self.lr = max(self.lr * self.factor, self.min_lr)
                self.bad = 0
        return self.lr
