import functools

import torch


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    if step < 0 or warmup_steps < 0:
        raise ValueError("steps count from 0")
    if not warmup_steps < total_steps:
        raise ValueError("nothing left after warmup")
    if min_ratio < 0 or min_ratio > 1:
        raise ValueError("min_ratio")
    if warmup_steps and step <= warmup_steps:
        return step / warmup_steps
    step = min(step, total_steps)
    angle = torch.tensor(torch.pi * (step - warmup_steps) / (total_steps - warmup_steps), dtype=torch.float64)
    weight = (1 + torch.cos(angle)) / 2
    return (weight + (1 - weight) * min_ratio).item()


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    multiplier = functools.partial(
        warmup_cosine, warmup_steps=warmup_steps, total_steps=total_steps, min_ratio=min_ratio
    )
    return torch.optim.lr_scheduler.LambdaLR(optimizer, multiplier)
