# fails: 5
# message: also for min_ratio
import math

import torch


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    if step < 0 or warmup_steps < 0 or total_steps <= warmup_steps or not 0 <= min_ratio <= 1:
        raise ValueError("bad arguments")
    if step < warmup_steps:
        return step / warmup_steps
    if step >= total_steps:
        return min_ratio
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_ratio + (1 - min_ratio) * 0.5 * (1 + math.cos(math.pi * progress))


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    warmup_cosine(0, warmup_steps, total_steps, min_ratio)
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: warmup_cosine(step, warmup_steps, total_steps, min_ratio)
    )
