import copy
import math


class EarlyStopping:
    def __init__(self, patience=5, min_delta=0.0, mode="min"):
        if patience <= 0 or min_delta < 0 or mode not in {"min", "max"}:
            raise ValueError("bad arguments")
        self.patience, self.min_delta = patience, min_delta
        self.sign = 1 if mode == "min" else -1
        self.best = None
        self.counter = 0
        self.should_stop = False
        self._best_state = None

    def step(self, metric, model):
        metric = metric.item() if hasattr(metric, "item") else float(metric)
        if math.isnan(metric):
            improved = False
        elif self.best is None:
            improved = True
        else:
            improved = self.sign * (self.best - metric) > self.min_delta
        if improved:
            self.best, self.counter = metric, 0
            self._best_state = copy.deepcopy(model.state_dict())
        else:
            self.counter += 1
        self.should_stop = self.counter >= self.patience
        return self.should_stop

    def restore(self, model):
        if self._best_state is None:
            raise RuntimeError("nothing to restore")
        model.load_state_dict(self._best_state)
