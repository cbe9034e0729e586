import math

import numpy as np


def effective_batch_size(micro_batch, accum_steps=1, world_size=1):
    for size in (micro_batch, accum_steps, world_size):
        if size < 1:
            raise ValueError("too small")
    return math.prod((micro_batch, accum_steps, world_size))


RULES = {"linear": 1.0, "sqrt": 0.5}


def scaled_lr(base_lr, base_batch, batch, rule="linear", max_lr=None):
    if rule not in RULES or base_lr <= 0 or base_batch < 1 or batch < 1:
        raise ValueError("bad argument")
    cap = math.inf if max_lr is None else max_lr
    if cap <= 0:
        raise ValueError("bad max_lr")
    return min(cap, base_lr * (batch / base_batch) ** RULES[rule])


def noise_scale(sq_norm_a, batch_a, sq_norm_b, batch_b):
    if min(batch_a, batch_b) < 1 or batch_a == batch_b or min(sq_norm_a, sq_norm_b) < 0:
        raise ValueError("bad measurement")
    g, s = np.linalg.solve([[1.0, 1 / batch_a], [1.0, 1 / batch_b]], [sq_norm_a, sq_norm_b])
    # The solver rounds: an estimate within rounding of zero is taken as zero.
    size = max(sq_norm_a, sq_norm_b)
    if s <= 1e-12 * size:
        return 0.0
    return float(s / g) if g > 1e-12 * size else math.inf
