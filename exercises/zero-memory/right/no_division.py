def _check(world_size, stage=0, **amounts):
    if world_size < 1:
        raise ValueError(f"world_size = {world_size}")
    if stage not in range(4):
        raise ValueError(f"stage = {stage}")
    for name, amount in amounts.items():
        if amount < 0:
            raise ValueError(f"{name} = {amount}")


def _weights(world_size, stage, p, g, o):
    """Bytes per parameter, times world_size."""
    return sum(size * (1 if stage >= since else world_size) for size, since in ((p, 3), (g, 2), (o, 1)))


def model_state_bytes(params, world_size, stage, *, param_bytes=2, grad_bytes=2, optim_bytes=12):
    _check(world_size, stage, params=params, p=param_bytes, g=grad_bytes, o=optim_bytes)
    return params * _weights(world_size, stage, param_bytes, grad_bytes, optim_bytes) / world_size


def lowest_stage_that_fits(
    params, world_size, gpu_bytes, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    _check(
        world_size,
        params=params,
        gpu=gpu_bytes,
        activations=activation_bytes,
        p=param_bytes,
        g=grad_bytes,
        o=optim_bytes,
    )
    room = (gpu_bytes - activation_bytes) * world_size
    fitting = (
        s for s in range(4) if params * _weights(world_size, s, param_bytes, grad_bytes, optim_bytes) <= room
    )
    return next(fitting, None)


def max_params(
    gpu_bytes, world_size, stage, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    _check(world_size, stage, gpu=gpu_bytes, act=activation_bytes, p=param_bytes, g=grad_bytes, o=optim_bytes)
    weight = _weights(world_size, stage, param_bytes, grad_bytes, optim_bytes)
    if weight == 0:
        raise ValueError("no bytes per parameter")
    room = (gpu_bytes - activation_bytes) * world_size
    if room <= 0:
        return 0
    count = int(room / weight)
    while count * weight > room:
        count -= 1
    while (count + 1) * weight <= room:
        count += 1
    return count
