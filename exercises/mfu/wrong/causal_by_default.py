# fails: 1
# message: for causal=True only
from typing import List, Sequence, Tuple

SECONDS_PER_DAY = 24 * 60 * 60


def flops_per_token(
    params: int, layers: int = 0, hidden: int = 0, seq_len: int = 0, *, causal: bool = True
) -> float:
    if params < 1:
        raise ValueError("params must be >= 1")
    for name, value in (("layers", layers), ("hidden", hidden), ("seq_len", seq_len)):
        if value < 0:
            raise ValueError(f"{name} must be >= 0")
    dense = 6 * params
    attention = 12 * layers * hidden * seq_len
    if causal:
        attention /= 2
    return float(dense + attention)


def tokens_per_second(step_seconds: Sequence[float], tokens_per_step: int, *, warmup: int = 0) -> float:
    if warmup < 0:
        raise ValueError("warmup must be >= 0")
    if tokens_per_step <= 0:
        raise ValueError("tokens_per_step must be > 0")
    if any(t <= 0 for t in step_seconds):
        raise ValueError("step times must be > 0")
    measured: List[float] = sorted(step_seconds[warmup:])
    n = len(measured)
    if n == 0:
        raise ValueError("no steps left after warmup")
    mid = n // 2
    if n % 2 == 1:
        median = measured[mid]
    else:
        median = (measured[mid - 1] + measured[mid]) / 2
    return float(tokens_per_step / median)


def utilization(
    tokens_per_second: float,
    flops_per_token: float,
    num_devices: int,
    peak_flops: float,
    *,
    recompute: float = 0.0,
) -> Tuple[float, float]:
    if tokens_per_second < 0:
        raise ValueError("tokens_per_second must be >= 0")
    if flops_per_token <= 0:
        raise ValueError("flops_per_token must be > 0")
    if num_devices < 1:
        raise ValueError("num_devices must be >= 1")
    if peak_flops <= 0:
        raise ValueError("peak_flops must be > 0")
    if not 0.0 <= recompute <= 1.0:
        raise ValueError("recompute must be in [0, 1]")
    achieved = tokens_per_second * flops_per_token
    available = num_devices * peak_flops
    mfu = achieved / available
    hfu = mfu * (1.0 + recompute / 3.0)
    return float(mfu), float(hfu)


def days_to_train(
    total_tokens: float,
    flops_per_token: float,
    num_devices: int,
    peak_flops: float,
    mfu: float,
    *,
    goodput: float = 1.0,
) -> float:
    if total_tokens < 0:
        raise ValueError("total_tokens must be >= 0")
    if flops_per_token <= 0:
        raise ValueError("flops_per_token must be > 0")
    if num_devices < 1:
        raise ValueError("num_devices must be >= 1")
    if peak_flops <= 0:
        raise ValueError("peak_flops must be > 0")
    if not 0.0 < mfu <= 1.0:
        raise ValueError("mfu must be in (0, 1]")
    if not 0.0 < goodput <= 1.0:
        raise ValueError("goodput must be in (0, 1]")
    effective = num_devices * peak_flops * mfu
    seconds = total_tokens * flops_per_token / effective
    return float(seconds / goodput / SECONDS_PER_DAY)
