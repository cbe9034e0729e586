import statistics


def _demand(*conditions):
    if not all(conditions):
        raise ValueError("impossible argument")


def flops_per_token(params, layers=0, hidden=0, seq_len=0, *, causal=False):
    _demand(params >= 1, layers >= 0, hidden >= 0, seq_len >= 0)
    return 6.0 * params + (6.0 if causal else 12.0) * layers * hidden * seq_len


def tokens_per_second(step_seconds, tokens_per_step, *, warmup=0):
    _demand(warmup >= 0, len(step_seconds) > warmup, min(step_seconds, default=0) > 0, tokens_per_step > 0)
    return tokens_per_step / statistics.median(list(step_seconds)[warmup:])


def utilization(tokens_per_second, flops_per_token, num_devices, peak_flops, *, recompute=0.0):
    _demand(
        tokens_per_second >= 0, flops_per_token > 0, num_devices >= 1, peak_flops > 0, 0 <= recompute <= 1
    )
    mfu = tokens_per_second / num_devices * (flops_per_token / peak_flops)
    return mfu, mfu * (3 + recompute) / 3


def days_to_train(total_tokens, flops_per_token, num_devices, peak_flops, mfu, *, goodput=1.0):
    _demand(
        total_tokens >= 0,
        flops_per_token > 0,
        num_devices >= 1,
        peak_flops > 0,
        0 < mfu <= 1,
        0 < goodput <= 1,
    )
    rate = num_devices * peak_flops * mfu * goodput / flops_per_token
    return total_tokens / rate / (24 * 60 * 60)
