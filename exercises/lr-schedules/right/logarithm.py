import math
from functools import reduce

import numpy as np


def step_decay(step, base_lr, milestones, gamma=0.1):
    if step < 0:
        raise ValueError(f"step must be at least 0, got {step}")
    passed = np.asarray(milestones, dtype=np.int64) <= step
    return float(base_lr * np.power(gamma, passed.sum()))


def _start(cycle, period, mult):
    return cycle * period if mult == 1 else period * (mult**cycle - 1) // (mult - 1)


def cosine_restarts(step, base_lr, period, mult=1, min_lr=0.0):
    for name, value, low in (("step", step, 0), ("period", period, 1), ("mult", mult, 1)):
        if value < low:
            raise ValueError(f"{name} must be at least {low}, got {value}")
    if mult == 1:
        cycle = step // period
    else:
        cycle = int(math.log(step / period * (mult - 1) + 1, mult))
        while _start(cycle, period, mult) > step:  # the logarithm may be off by a rounding error
            cycle -= 1
        while _start(cycle + 1, period, mult) <= step:
            cycle += 1
    t = step - _start(cycle, period, mult)
    length = period * mult**cycle
    middle, half = (base_lr + min_lr) / 2, (base_lr - min_lr) / 2
    return float(middle + half * np.cos(np.pi * t / length))


class ReduceOnPlateau:
    """Keeps the whole history and looks at it afresh."""

    def __init__(self, lr, factor=0.1, patience=10, min_lr=0.0, threshold=0.0):
        if not (0 < factor < 1):
            raise ValueError("factor")
        if patience < 0 or threshold < 0:
            raise ValueError("patience and threshold must not be negative")
        self.start = lr
        self.factor, self.patience, self.min_lr, self.threshold = factor, patience, min_lr, threshold
        self.history = []

    @property
    def lr(self):
        def advance(state, metric):
            best, bad, lr = state
            if metric < best - self.threshold:
                return metric, 0, lr
            if bad + 1 > self.patience:
                return best, 0, max(lr * self.factor, self.min_lr)
            return best, bad + 1, lr

        return reduce(advance, self.history, (math.inf, 0, self.start))[2]

    def step(self, metric):
        self.history.append(metric)
        return self.lr
