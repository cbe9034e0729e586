# fails: 8
# message: One device
"""Every figure is one fraction; the invariant is that the units cancel.

tokens/s * FLOP/token = FLOP/s needed, over devices * FLOP/s offered, gives MFU without a unit.
"""

from collections.abc import Sequence
from statistics import median


def flops_per_token(
    params: int, layers: int = 0, hidden: int = 0, seq_len: int = 0, *, causal: bool = False
) -> float:
    """FLOPs of one forward and backward pass for one token of a dense decoder."""
    if params < 1 or layers < 0 or hidden < 0 or seq_len < 0:
        raise ValueError("params must be positive and the other sizes not negative")
    attention = 12 * layers * hidden * seq_len
    if causal:
        attention /= 2
    return float(6 * params + attention)


def tokens_per_second(step_seconds: Sequence[float], tokens_per_step: int, *, warmup: int = 0) -> float:
    """Throughput of all devices together, from the median step after the warm-up."""
    if warmup < 0 or len(step_seconds) <= warmup:
        raise ValueError("no step is left after the warm-up")
    if any(seconds <= 0 for seconds in step_seconds) or tokens_per_step <= 0:
        raise ValueError("step times and tokens per step must be positive")
    return float(tokens_per_step / median(step_seconds[warmup:]))


def utilization(
    tokens_per_second: float,
    flops_per_token: float,
    num_devices: int,
    peak_flops: float,
    *,
    recompute: float = 0.0,
) -> tuple[float, float]:
    """(MFU, HFU) as fractions; peak_flops is the FLOP/s of one device."""
    if tokens_per_second < 0 or flops_per_token <= 0 or num_devices < 2 or peak_flops <= 0:
        raise ValueError("throughput must not be negative, FLOPs and devices must be positive")
    if not 0 <= recompute <= 1:
        raise ValueError("recompute is a share from 0 to 1")
    mfu = tokens_per_second * flops_per_token / (num_devices * peak_flops)
    return float(mfu), float(mfu * (1 + recompute / 3))


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
    if total_tokens < 0 or flops_per_token <= 0 or num_devices < 2 or peak_flops <= 0:
        raise ValueError("tokens must not be negative, FLOPs and devices must be positive")
    if not (0 < mfu <= 1 and 0 < goodput <= 1):
        raise ValueError("mfu and goodput are shares above 0 and up to 1")
    seconds = total_tokens * flops_per_token / (num_devices * peak_flops * mfu)
    return float(seconds / goodput / 86400)
