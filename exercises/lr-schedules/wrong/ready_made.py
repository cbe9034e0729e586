# fails: 0
# message: without torch.optim.lr_scheduler
import math

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau


def step_decay(step, base_lr, milestones, gamma=0.1):
    return base_lr * gamma ** sum(m <= step for m in milestones)


def cosine_restarts(step, base_lr, period, mult=1, min_lr=0.0):
    if step < 0 or period < 1 or mult < 1:
        raise ValueError("bad arguments")
    while step >= period:
        step, period = step - period, period * mult
    return min_lr + (base_lr - min_lr) * (1 + math.cos(math.pi * step / period)) / 2


class ReduceOnPlateau:
    def __init__(self, lr, factor=0.1, patience=10, min_lr=0.0, threshold=0.0):
        self.optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
        self.inner = ReduceLROnPlateau(
            self.optimizer,
            factor=factor,
            patience=patience,
            min_lr=min_lr,
            threshold=threshold,
            threshold_mode="abs",
        )
        self.lr = lr

    def step(self, metric):
        self.inner.step(metric)
        self.lr = self.optimizer.param_groups[0]["lr"]
        return self.lr
