import functools

import numpy as np
from torch.optim import lr_scheduler


@functools.lru_cache(maxsize=None)
def _table(warmup, total, floor):
    t = np.arange(total + 1, dtype=np.float64)
    up = t / max(warmup, 1)
    down = 1.0 - (1.0 - floor) * np.sin(np.pi / 2 * np.clip((t - warmup) / (total - warmup), 0, 1)) ** 2
    return np.where(t < warmup, up, down).tolist()


def _check(warmup, total, floor):
    for ok in (warmup >= 0, total > warmup, floor >= 0, floor <= 1):
        if not ok:
            raise ValueError((warmup, total, floor))


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    _check(warmup_steps, total_steps, min_ratio)
    if step < 0:
        raise ValueError(step)
    return _table(warmup_steps, total_steps, float(min_ratio))[min(step, total_steps)]


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    _check(warmup_steps, total_steps, min_ratio)
    return lr_scheduler.LambdaLR(optimizer, functools.partial(_call, warmup_steps, total_steps, min_ratio))


def _call(warmup, total, floor, step):
    return warmup_cosine(step, warmup, total, floor)
