import math

import torch


def _validate(step, warmup_steps, total_steps, min_ratio):
    problems = []
    if step < 0:
        problems.append("step < 0")
    if warmup_steps < 0:
        problems.append("warmup_steps < 0")
    if total_steps <= warmup_steps:
        problems.append("total_steps <= warmup_steps")
    if not 0 <= min_ratio <= 1:
        problems.append("min_ratio not in [0, 1]")
    if problems:
        raise ValueError(", ".join(problems))


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    _validate(step, warmup_steps, total_steps, min_ratio)
    amplitude, middle = (1 - min_ratio) / 2, (1 + min_ratio) / 2
    match step:
        case s if s < warmup_steps:
            return s * (1 / warmup_steps)
        case s if s > total_steps:
            return float(min_ratio)
        case s:
            return middle + amplitude * math.cos((s - warmup_steps) * math.pi / (total_steps - warmup_steps))


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    _validate(0, warmup_steps, total_steps, min_ratio)
    last = [0]

    def multiplier(step):
        last[0] = step
        return warmup_cosine(step, warmup_steps, total_steps, min_ratio)

    return torch.optim.lr_scheduler.LambdaLR(optimizer, multiplier)
