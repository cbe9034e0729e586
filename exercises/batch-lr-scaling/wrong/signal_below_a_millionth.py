# fails: 5, 6
# message: S / G
import math
from fractions import Fraction


def _positive(*counts):
    for c in counts:
        if c < 1:
            raise ValueError("below 1")


def effective_batch_size(micro_batch, accum_steps=1, world_size=1):
    _positive(micro_batch, accum_steps, world_size)
    return math.prod((micro_batch, accum_steps, world_size))


def scaled_lr(base_lr, base_batch, batch, rule="linear", max_lr=None):
    _positive(base_batch, batch)
    if base_lr <= 0 or (max_lr is not None and max_lr <= 0):
        raise ValueError("lr")
    power = {"linear": 1.0, "sqrt": 0.5}
    if rule not in power:
        raise ValueError("rule")
    lr = base_lr * math.pow(batch / base_batch, power[rule])
    return lr if max_lr is None else min(lr, max_lr)


def noise_scale(sq_norm_a, batch_a, sq_norm_b, batch_b):
    _positive(batch_a, batch_b)
    if batch_a == batch_b or sq_norm_a < 0 or sq_norm_b < 0:
        raise ValueError("measurements")
    a, b = Fraction(sq_norm_a), Fraction(sq_norm_b)
    s = (a - b) / (Fraction(1, batch_a) - Fraction(1, batch_b))
    g = a - s / batch_a
    if s <= 0:
        return 0.0
    if g <= 1e-6:
        return math.inf
    return float(s / g)
