import copy
import io

import torch


class EarlyStopping:
    def __init__(self, patience=5, min_delta=0.0, mode="min"):
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.history = []
        self.best_at = None
        self.best = None
        self.snapshot = None
        if not patience >= 1:
            raise ValueError("patience")
        if not min_delta >= 0:
            raise ValueError("min_delta")
        if mode != "min" and mode != "max":
            raise ValueError("mode")

    def threshold(self):
        return self.best - self.min_delta if self.mode == "min" else self.best + self.min_delta

    def step(self, metric, model):
        value = float(metric)
        self.history.append(value)
        if value != value:
            better = False
        elif self.best is None:
            better = True
        elif self.mode == "min":
            better = self.threshold() > value
        else:
            better = value > self.threshold()
        if better:
            self.best = value
            self.best_at = len(self.history)
            memory = io.BytesIO()
            torch.save(copy.copy(model.state_dict()), memory)
            self.snapshot = memory.getvalue()
        bad = len(self.history) - (self.best_at or 0)
        return bad >= self.patience

    def restore(self, model):
        if not self.snapshot:
            raise RuntimeError("call step first")
        model.load_state_dict(torch.load(io.BytesIO(self.snapshot), weights_only=True), strict=True)
