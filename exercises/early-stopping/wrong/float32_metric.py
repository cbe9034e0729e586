# fails: 10
# message: any size
import math
import torch


class EarlyStopping:
    def __init__(self, patience=5, min_delta=0.0, mode="min"):
        if patience < 1 or min_delta < 0 or mode not in ("min", "max"):
            raise ValueError("arguments")
        self.patience, self.min_delta, self.mode = patience, min_delta, mode
        self.best = None
        self._idle = 0
        self._saved = None

    def _better(self, m):
        if math.isnan(m):
            return False
        if self.best is None:
            return True
        return m < self.best - self.min_delta if self.mode == "min" else m > self.best + self.min_delta

    def step(self, metric, model):
        m = float(torch.as_tensor(metric, dtype=torch.float32))
        if self._better(m):
            self.best = m
            self._idle = 0
            self._saved = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self._idle += 1
        return self._idle >= self.patience

    def restore(self, model):
        if self._saved is None:
            raise RuntimeError("nothing to restore")
        with torch.no_grad():
            for k, v in model.state_dict().items():
                v.copy_(self._saved[k])
