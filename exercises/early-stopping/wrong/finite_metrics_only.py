# fails: 1
# message: an infinite metric may be one
import copy
import math
from typing import Dict, Optional, Union

import torch


class EarlyStopping:
    """Stop training when a monitored metric has stopped improving."""

    def __init__(self, patience: int = 5, min_delta: float = 0.0, mode: str = "min") -> None:
        if patience < 1:
            raise ValueError("patience must be >= 1")
        if min_delta < 0:
            raise ValueError("min_delta must be >= 0")
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', got {mode!r}")
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.best: Optional[float] = None
        self.counter = 0
        self.best_state: Optional[Dict[str, torch.Tensor]] = None

    def _is_improvement(self, metric: float) -> bool:
        if not math.isfinite(metric):
            return False
        if self.best is None:
            return True
        if self.mode == "min":
            return metric < self.best - self.min_delta
        return metric > self.best + self.min_delta

    def step(self, metric: Union[float, torch.Tensor], model: torch.nn.Module) -> bool:
        if isinstance(metric, torch.Tensor):
            metric = metric.detach().cpu().item()
        metric = float(metric)

        if self._is_improvement(metric):
            self.best = metric
            self.counter = 0
            self.best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
            return False

        self.counter += 1
        return self.counter >= self.patience

    def restore(self, model: torch.nn.Module) -> None:
        if self.best_state is None:
            raise RuntimeError("No best state to restore; step() has not seen an improvement yet")
        model.load_state_dict(self.best_state)
