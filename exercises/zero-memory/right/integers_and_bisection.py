def _scaled(world_size, stage, sizes):
    """Bytes of world_size ranks per parameter as an exact ratio of integers."""
    if world_size < 1 or stage not in {0, 1, 2, 3} or min(sizes) < 0:
        raise ValueError("bad world_size, stage or size")
    num, den = 0, 1
    for since, b in zip((3, 2, 1), sizes):
        n, d = b.as_integer_ratio()
        n *= 1 if stage >= since else world_size
        num, den = num * d + n * den, den * d
    return num, den


def model_state_bytes(params, world_size, stage, *, param_bytes=2, grad_bytes=2, optim_bytes=12):
    if params < 0:
        raise ValueError("params")
    num, den = _scaled(world_size, stage, (param_bytes, grad_bytes, optim_bytes))
    return params * num / (den * world_size)


def _fits(params, gpu_bytes, world_size, stage, activation_bytes, sizes):
    num, den = _scaled(world_size, stage, sizes)
    gn, gd = gpu_bytes.as_integer_ratio()
    an, ad = activation_bytes.as_integer_ratio()
    return params * num * gd * ad <= (gn * ad - an * gd) * den * world_size


def lowest_stage_that_fits(
    params, world_size, gpu_bytes, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    if params < 0 or gpu_bytes < 0 or activation_bytes < 0:
        raise ValueError("negative")
    sizes = (param_bytes, grad_bytes, optim_bytes)
    fitting = [s for s in (3, 2, 1, 0) if _fits(params, gpu_bytes, world_size, s, activation_bytes, sizes)]
    return fitting[-1] if fitting else None


def max_params(
    gpu_bytes, world_size, stage, activation_bytes=0, *, param_bytes=2, grad_bytes=2, optim_bytes=12
):
    """Doubling, then bisection."""
    sizes = (param_bytes, grad_bytes, optim_bytes)
    if gpu_bytes < 0 or activation_bytes < 0:
        raise ValueError("negative")
    if _scaled(world_size, stage, sizes)[0] == 0:
        raise ValueError("free parameters")
    if activation_bytes >= gpu_bytes:
        return 0

    def fits(p):
        return _fits(p, gpu_bytes, world_size, stage, activation_bytes, sizes)

    hi = 1
    while fits(hi):
        hi *= 2
    lo = 0
    while hi - lo > 1:
        mid = (lo + hi) // 2
        lo, hi = (mid, hi) if fits(mid) else (lo, mid)
    return lo
