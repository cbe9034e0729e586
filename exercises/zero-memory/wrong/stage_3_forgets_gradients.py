# fails: 4
# message: 16 bytes / world_size
import math
from fractions import Fraction


def per_parameter(
    world_size: int, stage: int, param_bytes: float, grad_bytes: float, optim_bytes: float
) -> Fraction:
    """Exact bytes per parameter on one rank."""
    if world_size < 1:
        raise ValueError("world_size must be at least 1")
    if stage not in (0, 1, 2, 3):
        raise ValueError("stage must be 0, 1, 2 or 3")
    if min(param_bytes, grad_bytes, optim_bytes) < 0:
        raise ValueError("bytes per parameter must not be negative")
    total = Fraction(0)
    for size, first_sharded_at in ((optim_bytes, 1), (grad_bytes, 2), (param_bytes, 3)):
        share = Fraction(size)
        total += share / world_size if stage == first_sharded_at or first_sharded_at == 1 and stage else share
    return total


def model_state_bytes(
    params: int,
    world_size: int,
    stage: int,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> float:
    """Bytes of parameters, gradients and optimizer state on one of ``world_size`` ranks."""
    if params < 0:
        raise ValueError("params must not be negative")
    return float(params * per_parameter(world_size, stage, param_bytes, grad_bytes, optim_bytes))


def lowest_stage_that_fits(
    params: int,
    world_size: int,
    gpu_bytes: float,
    activation_bytes: float = 0,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> int | None:
    """The smallest stage at which model states and activations fit on a GPU, or None."""
    if params < 0 or gpu_bytes < 0 or activation_bytes < 0:
        raise ValueError("counts and sizes must not be negative")
    free = Fraction(gpu_bytes) - Fraction(activation_bytes)
    sizes = [per_parameter(world_size, stage, param_bytes, grad_bytes, optim_bytes) for stage in range(4)]
    for stage, size in enumerate(sizes):
        if params * size <= free:
            return stage
    return None


def max_params(
    gpu_bytes: float,
    world_size: int,
    stage: int,
    activation_bytes: float = 0,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> int:
    """The largest number of parameters that fits on a GPU at ``stage``."""
    if gpu_bytes < 0 or activation_bytes < 0:
        raise ValueError("sizes must not be negative")
    size = per_parameter(world_size, stage, param_bytes, grad_bytes, optim_bytes)
    if size == 0:
        raise ValueError("bytes per parameter must not all be 0")
    free = Fraction(gpu_bytes) - Fraction(activation_bytes)
    return max(0, math.floor(free / size))
