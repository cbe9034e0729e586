"""The optimizers, schedules and gradient scalers of the lab."""

import math
from typing import Any

import torch
from torch import Tensor

from tools.incident_lab.setups import Setup

WARMUP = 20
STATIC_SCALE = 2.0**24


class UncorrectedAdam(torch.optim.Optimizer):
    """Adam without the bias correction of its moments."""

    def __init__(self, parameters: list[Tensor], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update θ ← θ − η·m/(√v + ε), where m and v start at zero. A ``closure`` is not supported."""
        assert closure is None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["m"].lerp_(p.grad, 0.1)
                state["v"].lerp_(p.grad * p.grad, 0.001)
                p.addcdiv_(state["m"], state["v"].sqrt() + 1e-8, value=-group["lr"])


def make_optimizer(setup: Setup, parameters: list[Tensor]) -> torch.optim.Optimizer:
    """Build the optimizer of ``setup`` for ``parameters``."""
    lr, decay = setup.lr, setup.decay
    if setup.optimizer == "adamw":
        return torch.optim.AdamW(parameters, lr=lr, weight_decay=decay)
    if setup.optimizer == "adam-uncorrected":
        return UncorrectedAdam(parameters, lr)
    if setup.optimizer in ("adam", "adam-l2"):
        return torch.optim.Adam(parameters, lr=lr, weight_decay=decay)
    return torch.optim.SGD(parameters, lr=lr, momentum=setup.momentum, weight_decay=decay)


class Rates:
    """The learning-rate schedule. It keeps its own step count, so that it can be saved and restored."""

    def __init__(self, setup: Setup, optimizer: torch.optim.Optimizer) -> None:
        self.setup, self.optimizer = setup, optimizer
        self.count = 0
        self._apply()

    def after_step(self, *, epoch_over: bool) -> None:
        """Advance the schedule; call this after each optimizer step."""
        if epoch_over or not self.setup.schedule.endswith("epoch"):
            self.count += 1
            self._apply()

    def state(self) -> int:
        """Return the number of steps of the schedule so far."""
        return self.count

    def restore(self, count: int) -> None:
        """Continue from ``count`` steps."""
        self.count = count
        self._apply()

    def _apply(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.setup.lr * self._factor()

    def _factor(self) -> float:
        kind, t = self.setup.schedule, self.count
        if kind in ("step-epoch", "step-batch"):
            return float(0.1 ** (t // 4))
        if kind == "cosine":
            return 0.5 * (1 + math.cos(math.pi * min(t / self.setup.steps, 1.0)))
        if kind == "warmup":
            return min((t + 1) / WARMUP, 1.0)
        return min(t / WARMUP, 1.0) if kind == "warmup-epoch" else 1.0


class StaticScaler:
    """A fixed loss scale that is divided out without a check for infinite gradients.

    It has the methods of ``torch.amp.GradScaler`` that the training loop calls.
    """

    def scale(self, loss: Tensor) -> Tensor:
        """Return the loss times the scale."""
        return loss * STATIC_SCALE

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the gradients by the scale."""
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(STATIC_SCALE)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Step even if gradients are not finite."""
        optimizer.step()

    def update(self) -> None:
        """Do nothing, because the scale is fixed."""

    def get_scale(self) -> float:
        """Return the scale."""
        return STATIC_SCALE


def make_scaler(setup: Setup) -> Any:
    """Build the gradient scaler of ``setup``, or return None if it has none."""
    if setup.precision != "float16" or setup.scaler == "none":
        return None
    return StaticScaler() if setup.scaler == "static" else torch.amp.GradScaler("cpu", init_scale=2.0**16)
