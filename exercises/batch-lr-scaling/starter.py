def effective_batch_size(
    micro_batch: int,
    accum_steps: int = 1,
    world_size: int = 1,
) -> int:
    """Examples behind one optimizer step."""
    raise NotImplementedError


def scaled_lr(
    base_lr: float,
    base_batch: int,
    batch: int,
    rule: str = "linear",
    max_lr: float | None = None,
) -> float:
    """The learning rate for `batch`, given one that works for `base_batch`;
    rule is "linear" or "sqrt".
    """
    raise NotImplementedError


def noise_scale(
    sq_norm_a: float,
    batch_a: int,
    sq_norm_b: float,
    batch_b: int,
) -> float:
    """The simple gradient noise scale S / G from squared gradient norms at two
    batch sizes.
    """
    raise NotImplementedError
