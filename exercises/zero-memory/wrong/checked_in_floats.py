# fails: 8
# message: One parameter more
from fractions import Fraction as F
from math import floor, inf


def _check(world_size, stage, *sizes):
    if world_size < 1:
        raise ValueError("world_size")
    if stage not in (0, 1, 2, 3):
        raise ValueError("stage")
    if any(not s >= 0 for s in sizes):
        raise ValueError("negative size")


def _per_param(world_size, stage, p, g, o):
    p, g, o = F(p), F(g), F(o)
    return (
        (p / world_size if stage >= 3 else p)
        + (g / world_size if stage >= 2 else g)
        + (o / world_size if stage >= 1 else o)
    )


def model_state_bytes(params, world_size, stage, *, param_bytes=2, grad_bytes=2, optim_bytes=12):
    _check(world_size, stage, params, param_bytes, grad_bytes, optim_bytes)
    return float(params * _per_param(world_size, stage, param_bytes, grad_bytes, optim_bytes))


def lowest_stage_that_fits(
    params, world_size, gpu_bytes, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    _check(world_size, 0, params, gpu_bytes, activation_bytes, param_bytes, grad_bytes, optim_bytes)
    for stage in range(4):
        need = params * _per_param(world_size, stage, param_bytes, grad_bytes, optim_bytes) + F(
            activation_bytes
        )
        if need <= F(gpu_bytes):
            return stage
    return None


def max_params(
    gpu_bytes, world_size, stage, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    _check(world_size, stage, gpu_bytes, activation_bytes, param_bytes, grad_bytes, optim_bytes)
    per = _per_param(world_size, stage, param_bytes, grad_bytes, optim_bytes)
    if per == 0:
        raise ValueError("all sizes are 0")
    room = F(gpu_bytes) - F(activation_bytes)
    k = max(0, int(float(room) / float(per)) + 2)
    while k > 0 and k * float(per) > float(room):
        k -= 1
    return k
