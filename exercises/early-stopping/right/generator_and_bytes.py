import io
import operator

import torch


class EarlyStopping:
    best = None

    def __init__(self, patience: int = 5, min_delta: float = 0.0, mode: str = "min") -> None:
        signs = {"min": -1, "max": 1}
        if mode not in signs:
            raise ValueError(f"mode {mode!r}")
        if patience < 1:
            raise ValueError(f"patience {patience!r}")
        if min_delta < 0:
            raise ValueError(f"min_delta {min_delta!r}")
        self._watch = self._run(patience, min_delta, signs[mode])
        next(self._watch)

    def _run(self, patience, delta, sign):
        left, stop = patience, None
        compare = operator.gt if sign > 0 else operator.lt
        while True:
            metric, model = yield stop
            first = self.best is None and metric == metric
            if first or (self.best is not None and compare(metric, self.best + sign * delta)):
                self.best, left = metric, patience
                buffer = io.BytesIO()
                torch.save(model.state_dict(), buffer)
                self._bytes = buffer.getvalue()
            else:
                left -= 1
            stop = left <= 0

    def step(self, metric, model):
        value = metric.item() if isinstance(metric, torch.Tensor) else metric
        return self._watch.send((float(value), model))

    def restore(self, model):
        if self.best is None:
            raise RuntimeError("no improvement yet")
        model.load_state_dict(torch.load(io.BytesIO(self._bytes), map_location="cpu"))
