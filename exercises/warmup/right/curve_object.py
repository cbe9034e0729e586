from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch.optim.lr_scheduler import LambdaLR


@dataclass(frozen=True)
class WarmupCosine:
    """The curve as a callable object; LambdaLR stores its fields in the state dict."""

    warmup_steps: int
    total_steps: int
    min_ratio: float = 0.0

    def __post_init__(self) -> None:
        if self.warmup_steps < 0:
            raise ValueError(f"warmup_steps={self.warmup_steps} is negative")
        if not self.warmup_steps < self.total_steps:
            raise ValueError(
                f"total_steps={self.total_steps} leaves no room after {self.warmup_steps} of warmup"
            )
        if not 0.0 <= self.min_ratio <= 1.0:
            raise ValueError(f"min_ratio={self.min_ratio}")

    @cached_property
    def decay_steps(self) -> int:
        return self.total_steps - self.warmup_steps

    def __call__(self, step: int) -> float:
        if step < 0:
            raise ValueError(f"step={step}")
        if step < self.warmup_steps:
            return float(step) / self.warmup_steps
        progress = min(1.0, (step - self.warmup_steps) / self.decay_steps)
        return float(self.min_ratio + (1.0 - self.min_ratio) * math.cos(0.5 * math.pi * progress) ** 2)


class _Scheduler(LambdaLR):
    """A LambdaLR that knows its curve."""

    def __init__(self, optimizer: torch.optim.Optimizer, curve: WarmupCosine, last_epoch: int = -1) -> None:
        self.curve = curve
        super().__init__(optimizer, [curve] * len(optimizer.param_groups), last_epoch)


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, min_ratio: float = 0.0) -> float:
    return WarmupCosine(warmup_steps, total_steps, min_ratio)(step)


def make_scheduler(
    optimizer: torch.optim.Optimizer, warmup_steps: int, total_steps: int, min_ratio: float = 0.0
) -> LambdaLR:
    return _Scheduler(optimizer, WarmupCosine(warmup_steps, total_steps, min_ratio))
