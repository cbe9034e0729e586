# fails: 8
# message: do not fit
"""A generator of the four totals; integers times the common denominator."""

import itertools
from fractions import Fraction as F


def _validate(*, at_least_one=(), not_negative=(), stage=0):
    if stage not in {0, 1, 2, 3}:
        raise ValueError(f"stage {stage}")
    for v in at_least_one:
        if v < 1:
            raise ValueError(v)
    for v in not_negative:
        if v < 0:
            raise ValueError(v)


def _per_param(world, p, g, o):
    shares = itertools.accumulate(
        [F(o), F(g), F(p)], lambda a, b: a - b * (1 - F(1, world)), initial=F(p) + F(g) + F(o)
    )
    return list(shares)


def model_state_bytes(params, world_size, stage, *, param_bytes=2, grad_bytes=2, optim_bytes=12):
    _validate(
        at_least_one=[world_size], not_negative=[params, param_bytes, grad_bytes, optim_bytes], stage=stage
    )
    return float(_per_param(world_size, param_bytes, grad_bytes, optim_bytes)[stage] * params)


def lowest_stage_that_fits(params, world_size, gpu_bytes, activation_bytes=0, **sizes):
    sizes = {"param_bytes": 2, "grad_bytes": 2, "optim_bytes": 12} | sizes
    _validate(at_least_one=[world_size], not_negative=[params, gpu_bytes, activation_bytes, *sizes.values()])
    per = _per_param(world_size, sizes["param_bytes"], sizes["grad_bytes"], sizes["optim_bytes"])
    return next(
        (s for s, each in enumerate(per) if each * params + F(activation_bytes) <= F(gpu_bytes)), None
    )


def max_params(
    gpu_bytes, world_size, stage, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    _validate(
        at_least_one=[world_size],
        not_negative=[gpu_bytes, activation_bytes, param_bytes, grad_bytes, optim_bytes],
        stage=stage,
    )
    per = _per_param(world_size, param_bytes, grad_bytes, optim_bytes)[stage]
    if not per:
        raise ValueError("three zeros")
    return max(0, int((gpu_bytes - activation_bytes) / float(per) + 1e-9))
