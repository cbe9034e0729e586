# fails: 5, 6
# message: bad measurement
import math


def effective_batch_size(micro_batch, accum_steps=1, world_size=1):
    if min(micro_batch, accum_steps, world_size) < 1:
        raise ValueError("sizes must be at least 1")
    return int(micro_batch * accum_steps * world_size)


def scaled_lr(base_lr, base_batch, batch, rule="linear", max_lr=None):
    if base_lr <= 0 or min(base_batch, batch) < 1 or (max_lr is not None and max_lr <= 0):
        raise ValueError("positive please")
    try:
        power = {"linear": 1.0, "sqrt": 0.5}[rule]
    except KeyError:
        raise ValueError(f"unknown rule {rule!r}") from None
    lr = base_lr * (batch / base_batch) ** power
    return lr if max_lr is None else min(lr, max_lr)


def noise_scale(sq_norm_a, batch_a, sq_norm_b, batch_b):
    if min(batch_a, batch_b) < 1 or abs(batch_a - batch_b) < 2 or min(sq_norm_a, sq_norm_b) < 0:
        raise ValueError("bad measurement")
    s = (sq_norm_a - sq_norm_b) / (1 / batch_a - 1 / batch_b)
    g = (batch_b * sq_norm_b - batch_a * sq_norm_a) / (batch_b - batch_a)
    return 0.0 if s <= 0 else math.inf if g <= 0 else s / g
