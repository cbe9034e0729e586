import torch
from torch import Tensor
from torch.optim import Optimizer


class DynamicLossScaler:
    """Keeps everything that is saved in one dict; looks at the largest magnitude of each gradient."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ):
        if init_scale <= 0 or growth_factor <= 1 or growth_interval <= 0:
            raise ValueError("init_scale > 0, growth_factor > 1 and growth_interval >= 1 are needed")
        if not (backoff_factor > 0 and backoff_factor < 1):
            raise ValueError("backoff_factor must be between 0 and 1")
        self._values = {
            "scale": init_scale * 1.0,
            "growth": growth_factor,
            "backoff": backoff_factor,
            "interval": growth_interval,
            "countdown": growth_interval,
        }
        self._begin()

    def _begin(self):
        self._unscaled, self._done, self._found = set(), set(), set()

    scale_value = property(lambda self: float(self._values["scale"]))

    def scale(self, loss: Tensor) -> Tensor:
        factor = self._values["scale"]
        if loss.dtype == torch.half or loss.dtype == torch.bfloat16:
            return torch.mul(loss.to(torch.float32), factor)
        return torch.mul(loss, factor)

    def _look(self, optimizer: Optimizer) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is not None and not grad.abs().max() < float("inf"):
                    self._found.add(optimizer)

    def unscale_(self, optimizer: Optimizer) -> None:
        if optimizer in self._unscaled:
            raise RuntimeError("already unscaled")
        if optimizer in self._done:
            raise RuntimeError("already stepped")
        self._look(optimizer)
        self._unscaled.add(optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad /= self._values["scale"]

    def step(self, optimizer: Optimizer) -> bool:
        if optimizer in self._done:
            raise RuntimeError("already stepped")
        if optimizer not in self._unscaled:
            self.unscale_(optimizer)
        self._look(optimizer)
        self._done.add(optimizer)
        fine = optimizer not in self._found
        if fine:
            optimizer.step()
        return fine

    def update(self) -> None:
        if len(self._done) == 0:
            raise RuntimeError("update without step")
        values = self._values
        skipped = bool(self._done & self._found)
        values["countdown"] = values["interval"] if skipped else values["countdown"] - 1
        if skipped:
            values["scale"] *= values["backoff"]
        elif values["countdown"] == 0:
            values["scale"] *= values["growth"]
            values["countdown"] = values["interval"]
        self._begin()

    def state_dict(self) -> dict:
        return dict(self._values)

    def load_state_dict(self, state: dict) -> None:
        self._values.update(state)
        self._begin()
