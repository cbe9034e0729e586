import operator

import torch


class NothingToRestore(RuntimeError):
    pass


class EarlyStopping:
    MODES = {"min": (operator.lt, -1.0), "max": (operator.gt, 1.0)}

    def __init__(self, patience: int = 5, min_delta: float = 0.0, mode: str = "min"):
        if mode not in self.MODES:
            raise ValueError(mode)
        if patience < 1:
            raise ValueError(patience)
        if min_delta < 0.0:
            raise ValueError(min_delta)
        self._left = self._patience = patience
        self._beats, sign = self.MODES[mode]
        self._shift = sign * min_delta
        self._kept = []
        self.best = None

    @staticmethod
    def _tensors(model):
        yield from model.parameters()
        yield from model.buffers()

    def step(self, metric, model):
        metric = torch.as_tensor(metric, dtype=torch.float64).reshape(()).item()
        first = self.best is None and metric == metric
        if first or (self.best is not None and self._beats(metric, self.best + self._shift)):
            self.best = metric
            self._left = self._patience
            self._kept = [t.detach().to("cpu", copy=True) for t in self._tensors(model)]
            return False
        self._left -= 1
        return self._left <= 0

    @torch.no_grad()
    def restore(self, model):
        if self.best is None:
            raise NothingToRestore("no improvement so far")
        for target, kept in zip(self._tensors(model), self._kept, strict=True):
            target.copy_(kept)
