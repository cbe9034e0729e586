# fails: 3
# message: not the slowest
from statistics import median


def _need(*conditions):
    if not all(conditions):
        raise ValueError("argument out of range")


def flops_per_token(params, layers=0, hidden=0, seq_len=0, *, causal=False):
    _need(params >= 1, layers >= 0, hidden >= 0, seq_len >= 0)
    return float(6 * params + 12 * layers * hidden * seq_len / (2 if causal else 1))


def tokens_per_second(step_seconds, tokens_per_step, *, warmup=0):
    _need(warmup >= 0, tokens_per_step > 0, all(t > 0 for t in step_seconds), len(step_seconds) > warmup)
    return float(tokens_per_step / median(sorted(step_seconds, reverse=True)[warmup:]))


def utilization(tokens_per_second, flops_per_token, num_devices, peak_flops, *, recompute=0.0):
    _need(tokens_per_second >= 0, flops_per_token > 0, num_devices >= 1, peak_flops > 0, 0 <= recompute <= 1)
    mfu = tokens_per_second * flops_per_token / (num_devices * peak_flops)
    return float(mfu), float(mfu * (1 + recompute / 3))


def days_to_train(total_tokens, flops_per_token, num_devices, peak_flops, mfu, *, goodput=1.0):
    _need(
        total_tokens >= 0,
        flops_per_token > 0,
        num_devices >= 1,
        peak_flops > 0,
        0 < mfu <= 1,
        0 < goodput <= 1,
    )
    return float(total_tokens * flops_per_token / (num_devices * peak_flops * mfu * goodput) / 86400)
