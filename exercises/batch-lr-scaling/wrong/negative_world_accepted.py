# fails: 8
# message: negative ones too
import math


def effective_batch_size(micro_batch, accum_steps=1, world_size=1):
    if micro_batch < 1 or accum_steps < 1 or world_size == 0:
        raise ValueError("sizes must be at least 1")
    return micro_batch * accum_steps * world_size


def scaled_lr(base_lr, base_batch, batch, rule="linear", max_lr=None):
    if base_lr <= 0:
        raise ValueError("base_lr must be positive")
    if base_batch < 1 or batch < 1:
        raise ValueError("batch sizes must be at least 1")
    if max_lr is not None and max_lr <= 0:
        raise ValueError("max_lr must be positive")
    if rule == "linear":
        lr = base_lr * batch / base_batch
    elif rule == "sqrt":
        lr = base_lr * math.sqrt(batch / base_batch)
    else:
        raise ValueError(f"unknown rule {rule}")
    if max_lr is not None and lr > max_lr:
        lr = max_lr
    return lr


def noise_scale(sq_norm_a, batch_a, sq_norm_b, batch_b):
    if batch_a < 1 or batch_b < 1:
        raise ValueError("batch sizes must be at least 1")
    if sq_norm_a < 0 or sq_norm_b < 0:
        raise ValueError("squared norms cannot be negative")
    if batch_a == batch_b:
        raise ValueError("need two different batch sizes")
    s = (sq_norm_a - sq_norm_b) / (1 / batch_a - 1 / batch_b)
    g = (batch_a * sq_norm_a - batch_b * sq_norm_b) / (batch_a - batch_b)
    if s <= 0:
        return 0.0
    if g <= 0:
        return math.inf
    return s / g
