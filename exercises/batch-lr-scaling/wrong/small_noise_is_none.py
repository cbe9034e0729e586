# fails: 8
# message: are valid
"""The invariant behind the noise scale: E|g_b|^2 = G + S / b, a straight line in 1 / b.

Its slope is S and its intercept G, so two points are enough, in either order.
"""

import math


def effective_batch_size(micro_batch: int, accum_steps: int = 1, world_size: int = 1) -> int:
    """Examples behind one optimizer step."""
    if min(micro_batch, accum_steps, world_size) < 1:
        raise ValueError("sizes and counts must be at least 1")
    return micro_batch * accum_steps * world_size


def scaled_lr(
    base_lr: float, base_batch: int, batch: int, rule: str = "linear", max_lr: float | None = None
) -> float:
    """The learning rate for `batch`, given one that works for `base_batch`; rule is "linear" or "sqrt"."""
    if base_lr <= 0 or (max_lr is not None and max_lr <= 0):
        raise ValueError("learning rates must be positive")
    if base_batch < 1 or batch < 1:
        raise ValueError("batch sizes must be at least 1")
    ratio = batch / base_batch
    if rule == "linear":
        lr = base_lr * ratio
    elif rule == "sqrt":
        lr = base_lr * math.sqrt(ratio)
    else:
        raise ValueError(f"unknown rule {rule!r}")
    return lr if max_lr is None else min(lr, max_lr)


def noise_scale(sq_norm_a: float, batch_a: int, sq_norm_b: float, batch_b: int) -> float:
    """The simple gradient noise scale S / G from squared gradient norms at two batch sizes."""
    if batch_a < 1 or batch_b < 1 or batch_a == batch_b:
        raise ValueError("two different batch sizes of at least 1 are needed")
    if sq_norm_a < 0 or sq_norm_b < 0:
        raise ValueError("squared norms cannot be negative")
    s = (sq_norm_a - sq_norm_b) / (1 / batch_a - 1 / batch_b)
    g = (batch_a * sq_norm_a - batch_b * sq_norm_b) / (batch_a - batch_b)
    if s <= 1:
        return 0.0
    if g <= 0:
        return math.inf
    return s / g
