# fails: 4
# message: ZeroDivisionError
import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def check(warmup_steps: int, total_steps: int, min_ratio: float) -> None:
    """Raise ValueError for arguments that make no schedule."""
    if warmup_steps < 0:
        raise ValueError("warmup_steps must not be negative")
    if total_steps <= warmup_steps:
        raise ValueError("total_steps must be greater than warmup_steps")
    if not 0 <= min_ratio <= 1:
        raise ValueError("min_ratio must lie in [0, 1]")


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, min_ratio: float = 0.0) -> float:
    """The multiplier of the peak learning rate at ``step`` (counted from 0)."""
    check(warmup_steps, total_steps, min_ratio)
    if step < 0:
        raise ValueError("step must not be negative")
    if step <= warmup_steps:
        return step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return min_ratio + (1 - min_ratio) * 0.5 * (1 + math.cos(math.pi * progress))


def make_scheduler(
    optimizer: torch.optim.Optimizer, warmup_steps: int, total_steps: int, min_ratio: float = 0.0
) -> LambdaLR:
    """A LambdaLR that applies `warmup_cosine` to an optimizer whose configured lr is the peak."""
    check(warmup_steps, total_steps, min_ratio)
    return LambdaLR(optimizer, lambda step: warmup_cosine(step, warmup_steps, total_steps, min_ratio))
