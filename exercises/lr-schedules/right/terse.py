import bisect
import math


def step_decay(step, base_lr, milestones, gamma=0.1):
    if step < 0:
        raise ValueError("step")
    return base_lr * gamma ** bisect.bisect_right(sorted(milestones), step)


def cosine_restarts(step, base_lr, period, mult=1, min_lr=0.0):
    if min(step, period - 1, mult - 1) < 0:
        raise ValueError("step >= 0, period >= 1 and mult >= 1 are needed")
    start, length = 0, period
    while start + length <= step:
        start, length = start + length, length * mult
    weight = math.cos(0.5 * math.pi * (step - start) / length) ** 2
    return weight * base_lr + (1 - weight) * min_lr


class ReduceOnPlateau:
    def __init__(self, lr, factor=0.1, patience=10, min_lr=0.0, threshold=0.0):
        if factor <= 0 or factor >= 1 or patience < 0 or threshold < 0:
            raise ValueError("bad settings")
        self.lr, self._left, self._best = lr, patience + 1, None
        self._settings = factor, patience, min_lr, threshold

    def step(self, metric):
        factor, patience, min_lr, threshold = self._settings
        better = metric == metric and (self._best is None or metric < self._best - threshold)
        self._best = metric if better else self._best
        self._left = patience + 1 if better else self._left - 1
        if self._left == 0:
            self.lr, self._left = max(min_lr, factor * self.lr), patience + 1
        return self.lr
