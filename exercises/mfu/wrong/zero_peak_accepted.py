# fails: 8
# message: peak_flops must be positive in days_to_train too
import statistics
from fractions import Fraction
from math import inf


def _need(ok, what):
    if not ok:
        raise ValueError(what)


def flops_per_token(params, layers=0, hidden=0, seq_len=0, *, causal=False):
    _need(params >= 1, "params")
    _need(min(layers, hidden, seq_len) >= 0, "negative")
    attention = 12 * layers * hidden * seq_len
    return 6.0 * params + (attention / 2 if causal else attention)


def tokens_per_second(step_seconds, tokens_per_step, *, warmup=0):
    _need(warmup >= 0, "warmup")
    _need(tokens_per_step > 0, "tokens")
    _need(all(s > 0 for s in step_seconds), "step time")
    rest = step_seconds[warmup:]
    _need(len(rest) > 0, "no steps")
    return float(tokens_per_step / statistics.median(rest))


def utilization(tokens_per_second, flops_per_token, num_devices, peak_flops, *, recompute=0.0):
    _need(tokens_per_second >= 0, "throughput")
    _need(flops_per_token > 0, "flops")
    _need(num_devices >= 1, "devices")
    _need(peak_flops > 0, "peak")
    _need(0 <= recompute <= 1, "recompute")
    mfu = tokens_per_second * flops_per_token / num_devices / peak_flops
    return float(mfu), float(mfu * (3 + recompute) / 3)


def days_to_train(total_tokens, flops_per_token, num_devices, peak_flops, mfu, *, goodput=1.0):
    _need(total_tokens >= 0, "tokens")
    _need(flops_per_token > 0, "flops")
    _need(num_devices >= 1, "devices")
    _need(peak_flops >= 0, "peak")
    _need(0 < mfu <= 1, "mfu")
    _need(0 < goodput <= 1, "goodput")
    rate = num_devices * peak_flops * mfu * goodput / flops_per_token
    return float(total_tokens / rate / 86400)
