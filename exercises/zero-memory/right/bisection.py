from fractions import Fraction as F


def _states(params, world_size, stage, param_bytes, grad_bytes, optim_bytes):
    parts = [F(param_bytes), F(grad_bytes), F(optim_bytes)]
    for index in range(3 - stage, 3):
        parts[index] /= world_size
    return sum(parts) * params


def _validate(world_size, stage, *amounts):
    if not world_size >= 1 or stage not in {0, 1, 2, 3} or any(a < 0 for a in amounts):
        raise ValueError("invalid arguments")


def model_state_bytes(
    params: int, world_size: int, stage: int, *, param_bytes=2, grad_bytes=2, optim_bytes=12
) -> float:
    _validate(world_size, stage, params, param_bytes, grad_bytes, optim_bytes)
    return float(_states(params, world_size, stage, param_bytes, grad_bytes, optim_bytes))


def lowest_stage_that_fits(params, world_size, gpu_bytes, activation_bytes=0, **sizes):
    sizes = {"param_bytes": 2, "grad_bytes": 2, "optim_bytes": 12} | sizes
    _validate(world_size, 0, params, gpu_bytes, activation_bytes, *sizes.values())
    for stage in (0, 1, 2, 3):
        if _states(params, world_size, stage, **sizes) + F(activation_bytes) <= F(gpu_bytes):
            return stage
    return None


def max_params(gpu_bytes, world_size, stage, activation_bytes=0, **sizes):
    sizes = {"param_bytes": 2, "grad_bytes": 2, "optim_bytes": 12} | sizes
    _validate(world_size, stage, gpu_bytes, activation_bytes, *sizes.values())
    if not any(sizes.values()):
        raise ValueError("parameters that take no memory")

    def fits(count):
        return _states(count, world_size, stage, **sizes) + F(activation_bytes) <= F(gpu_bytes)

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
