# fails: 8
# message: Bytes may be fractions
from fractions import Fraction


def model_state_bytes(params, world_size, stage, *, param_bytes=2, grad_bytes=2, optim_bytes=12):
    if world_size < 1:
        raise ValueError("world_size")
    if stage not in (0, 1, 2, 3):
        raise ValueError("stage")
    if params < 0 or param_bytes < 0 or grad_bytes < 0 or optim_bytes < 0:
        raise ValueError("negative")
    p, g, o = params * param_bytes, params * grad_bytes, params * optim_bytes
    if stage >= 1:
        o = o / world_size
    if stage >= 2:
        g = g / world_size
    if stage >= 3:
        p = p / world_size
    return float(p + g + o)


def lowest_stage_that_fits(
    params, world_size, gpu_bytes, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    if gpu_bytes < 0 or activation_bytes < 0:
        raise ValueError("negative")
    for stage in range(4):
        need = model_state_bytes(
            params, world_size, stage, param_bytes=param_bytes, grad_bytes=grad_bytes, optim_bytes=optim_bytes
        )
        if need + activation_bytes <= gpu_bytes:
            return stage
    return None


def max_params(
    gpu_bytes, world_size, stage, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    model_state_bytes(
        1, world_size, stage, param_bytes=param_bytes, grad_bytes=grad_bytes, optim_bytes=optim_bytes
    )
    if gpu_bytes < 0 or activation_bytes < 0:
        raise ValueError("negative")
    if param_bytes + grad_bytes + optim_bytes == 0:
        raise ValueError("no bytes per parameter")
    p, g, o = Fraction(param_bytes), Fraction(grad_bytes), Fraction(optim_bytes)
    per = (
        p / (world_size if stage >= 3 else 1)
        + g / (world_size if stage >= 2 else 1)
        + o / (world_size if stage >= 1 else 1)
    )
    free = Fraction(gpu_bytes) - Fraction(int(activation_bytes))
    if free <= 0:
        return 0
    return int(free / per)
