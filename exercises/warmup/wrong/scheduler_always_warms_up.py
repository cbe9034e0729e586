# fails: 7
# message: Without warmup
import math
import torch


def _check(warmup_steps, total_steps, min_ratio):
    if warmup_steps < 0:
        raise ValueError("warmup_steps must not be negative")
    if total_steps <= warmup_steps:
        raise ValueError("total_steps must exceed warmup_steps")
    if not 0 <= min_ratio <= 1:
        raise ValueError("min_ratio must lie in [0, 1]")


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    _check(warmup_steps, total_steps, min_ratio)
    if step < 0:
        raise ValueError("step must not be negative")
    if step < warmup_steps:
        return step / warmup_steps
    t = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return float(min_ratio + (1 - min_ratio) * 0.5 * (1 + math.cos(math.pi * t)))


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    _check(warmup_steps, total_steps, min_ratio)
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: warmup_cosine(k, warmup_steps or 1, total_steps, min_ratio)
    )
