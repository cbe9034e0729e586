# fails: 3
# message: also after step
import math

import torch


class EarlyStopping:
    best = None

    def __init__(self, patience=5, min_delta=0.0, mode="min"):
        if patience < 1:
            raise ValueError("patience must be at least 1")
        if min_delta < 0:
            raise ValueError("min_delta must not be negative")
        if mode not in ("min", "max"):
            raise ValueError("mode must be min or max")
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.best = None
        self.bad = 0
        self.copy = None
        self.done = False

    def better(self, value):
        if math.isnan(value):
            return False
        if self.best is None:
            return True
        if self.mode == "min":
            return value < self.best - self.min_delta
        return value > self.best + self.min_delta

    def step(self, metric, model):
        value = float(metric)
        if self.better(value):
            self.best = value
            self.bad = 0
            self.copy = {k: v.detach().clone() for k, v in model.state_dict().items()}
            return self.done
        self.bad += 1
        self.done = self.done or self.bad >= self.patience
        return self.done

    def restore(self, model):
        if self.copy is None:
            raise RuntimeError("no improvement yet: nothing to restore")
        model.load_state_dict(self.copy)
