from decimal import ROUND_FLOOR, Decimal, getcontext

getcontext().prec = 60


class BadSize(ValueError):
    pass


def model_state_bytes(
    params: int,
    world_size: int,
    stage: int,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> float:
    if world_size < 1:
        raise BadSize("world_size")
    if params < 0 or param_bytes < 0 or grad_bytes < 0 or optim_bytes < 0:
        raise BadSize("negative size")
    match stage:
        case 0:
            total = param_bytes + grad_bytes + optim_bytes
        case 1:
            total = param_bytes + grad_bytes + optim_bytes / world_size
        case 2:
            total = param_bytes + (grad_bytes + optim_bytes) / world_size
        case 3:
            total = (param_bytes + grad_bytes + optim_bytes) / world_size
        case _:
            raise BadSize("stage")
    return float(params * total)


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
    if gpu_bytes < 0 or activation_bytes < 0:
        raise BadSize("negative size")
    found = None
    for stage in (3, 2, 1, 0):
        states = model_state_bytes(
            params,
            world_size,
            stage,
            param_bytes=param_bytes,
            grad_bytes=grad_bytes,
            optim_bytes=optim_bytes,
        )
        if states + activation_bytes <= gpu_bytes:
            found = stage
    return found


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
    sizes = {"param_bytes": param_bytes, "grad_bytes": grad_bytes, "optim_bytes": optim_bytes}
    if model_state_bytes(1, world_size, stage, **sizes) == 0 or gpu_bytes < 0 or activation_bytes < 0:
        raise BadSize("sizes")
    room = Decimal(gpu_bytes) - Decimal(activation_bytes)
    if room <= 0:
        return 0
    whole = Decimal(param_bytes if stage < 3 else 0) + Decimal(grad_bytes if stage < 2 else 0)
    whole += Decimal(optim_bytes if stage < 1 else 0)
    shared = Decimal(param_bytes) + Decimal(grad_bytes) + Decimal(optim_bytes) - whole
    quotient = room * world_size / (whole * world_size + shared)
    return int(quotient.to_integral_value(rounding=ROUND_FLOOR))
