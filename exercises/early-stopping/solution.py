"""Early stopping with the best weights.

Invariant: ``best`` and the copied state come from the same call, the last improvement; the count is the number of
calls since then. NaN needs no case of its own beyond the first call, because < and > with it are false.
"""

import math

import torch


class EarlyStopping:
    """Watches a metric, says when to stop, and keeps a copy of the best weights."""

    best: float | None

    def __init__(self, patience: int = 5, min_delta: float = 0.0, mode: str = "min") -> None:
        if patience < 1:
            raise ValueError("patience must be at least 1")
        if min_delta < 0:
            raise ValueError("min_delta must not be negative")
        if mode not in ("min", "max"):
            raise ValueError(f"mode is 'min' or 'max', got {mode!r}")
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.best = None
        self.bad = 0
        self.state: dict[str, torch.Tensor] | None = None

    def _improves(self, metric: float) -> bool:
        if self.best is None:
            return not math.isnan(metric)
        if self.mode == "min":
            return metric < self.best - self.min_delta
        return metric > self.best + self.min_delta

    def step(self, metric: float | torch.Tensor, model: torch.nn.Module) -> bool:
        """Take note of a validation; True if training should stop now."""
        value = float(metric)
        if self._improves(value):
            self.best = value
            self.bad = 0
            self.state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model: torch.nn.Module) -> None:
        """Write the best parameters and buffers into the model."""
        if self.state is None:
            raise RuntimeError("there was no improvement yet: nothing to restore")
        model.load_state_dict(self.state)
