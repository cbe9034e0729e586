from collections.abc import Sequence


def flops_per_token(
    params: int,
    layers: int = 0,
    hidden: int = 0,
    seq_len: int = 0,
    *,
    causal: bool = False,
) -> float:
    """FLOPs of one forward and backward pass for one token of a dense
    decoder.
    """
    raise NotImplementedError


def tokens_per_second(
    step_seconds: Sequence[float],
    tokens_per_step: int,
    *,
    warmup: int = 0,
) -> float:
    """Throughput of all devices together, from the median step after the
    warm-up.
    """
    raise NotImplementedError


def utilization(
    tokens_per_second: float,
    flops_per_token: float,
    num_devices: int,
    peak_flops: float,
    *,
    recompute: float = 0.0,
) -> tuple[float, float]:
    """(MFU, HFU) as fractions; peak_flops is the FLOP/s of one device."""
    raise NotImplementedError


def days_to_train(
    total_tokens: float,
    flops_per_token: float,
    num_devices: int,
    peak_flops: float,
    mfu: float,
    *,
    goodput: float = 1.0,
) -> float:
    """Days of wall clock to process total_tokens."""
    raise NotImplementedError
