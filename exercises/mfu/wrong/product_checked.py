# fails: 8
# message: must be refused, whatever the other sizes are
def flops_per_token(params, layers=0, hidden=0, seq_len=0, *, causal=False):
    if params < 1:
        raise ValueError("params")
    if layers * hidden * seq_len < 0:
        raise ValueError("negative")
    att = 12 * layers * hidden * seq_len
    if causal:
        att = att / 2
    return float(6 * params + att)


def tokens_per_second(step_seconds, tokens_per_step, *, warmup=0):
    if warmup < 0:
        raise ValueError("warmup")
    if tokens_per_step <= 0:
        raise ValueError("tokens")
    for s in step_seconds:
        if not s > 0:
            raise ValueError("time")
    rest = sorted(step_seconds[warmup:])
    n = len(rest)
    if n == 0:
        raise ValueError("no steps")
    if n % 2 == 1:
        med = rest[n // 2]
    else:
        med = (rest[n // 2 - 1] + rest[n // 2]) / 2
    return float(tokens_per_step / med)


def utilization(tokens_per_second, flops_per_token, num_devices, peak_flops, *, recompute=0.0):
    if tokens_per_second < 0:
        raise ValueError("throughput")
    if num_devices < 1:
        raise ValueError("devices")
    if flops_per_token <= 0 or peak_flops <= 0:
        raise ValueError("flops")
    if recompute < 0 or recompute > 1:
        raise ValueError("recompute")
    mfu = tokens_per_second * flops_per_token / (num_devices * peak_flops)
    hfu = mfu * (1 + recompute / 3)
    return float(mfu), float(hfu)


def days_to_train(total_tokens, flops_per_token, num_devices, peak_flops, mfu, *, goodput=1.0):
    if total_tokens < 0:
        raise ValueError("tokens")
    if num_devices < 1:
        raise ValueError("devices")
    if flops_per_token <= 0 or peak_flops <= 0:
        raise ValueError("flops")
    if mfu <= 0 or mfu > 1 or goodput <= 0 or goodput > 1:
        raise ValueError("shares")
    seconds = total_tokens * flops_per_token / (num_devices * peak_flops * mfu)
    return float(seconds / goodput / 86400)
