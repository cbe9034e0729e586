def effective_batch_size(micro_batch: int, accum_steps: int = 1, world_size: int = 1) -> int:
    if micro_batch < 1 or accum_steps < 1 or world_size < 1:
        raise ValueError("every factor must be at least 1")
    per_device = micro_batch * accum_steps
    return per_device * world_size


def scaled_lr(
    base_lr: float, base_batch: int, batch: int, rule: str = "linear", max_lr: float | None = None
) -> float:
    if not base_lr > 0:
        raise ValueError("base_lr")
    if base_batch < 1 or batch < 1:
        raise ValueError("batch")
    if max_lr is not None and not max_lr > 0:
        raise ValueError("max_lr")
    match rule:
        case "linear":
            lr = base_lr / base_batch * batch
        case "sqrt":
            lr = base_lr * (batch**0.5 / base_batch**0.5)
        case _:
            raise ValueError(rule)
    if max_lr is not None and lr > max_lr:
        return max_lr
    return lr


def noise_scale(sq_norm_a: float, batch_a: int, sq_norm_b: float, batch_b: int) -> float:
    if batch_a == batch_b or batch_a < 1 or batch_b < 1:
        raise ValueError("batches")
    if sq_norm_a < 0 or sq_norm_b < 0:
        raise ValueError("norms")
    (small, y_small), (large, y_large) = sorted([(batch_a, sq_norm_a), (batch_b, sq_norm_b)])
    variance = (y_small - y_large) * small * large / (large - small)
    if variance <= 0:
        return 0.0
    squared = (large * y_large - small * y_small) / (large - small)
    return variance / squared if squared > 0 else float("inf")
