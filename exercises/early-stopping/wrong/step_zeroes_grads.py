# fails: 5
# message: step changed gradients
import math

import torch


class EarlyStopping:
    def __init__(self, patience=5, min_delta=0.0, mode="min"):
        if patience < 1:
            raise ValueError("patience")
        if min_delta < 0:
            raise ValueError("min_delta")
        if mode not in ("min", "max"):
            raise ValueError("mode")
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.best = None
        self.bad = 0
        self.state = None

    def step(self, metric, model):
        metric = float(metric)
        if math.isnan(metric):
            better = False
        elif self.best is None:
            better = True
        elif self.mode == "min":
            better = metric < self.best - self.min_delta
        else:
            better = metric > self.best + self.min_delta
        model.zero_grad()
        if better:
            self.best = metric
            self.bad = 0
            self.state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        if self.state is None:
            raise RuntimeError("no improvement yet")
        model.load_state_dict(self.state)
