"""Points for every cause; the highest score wins."""

import math


def _ratio(a, b):
    r = a / b if b else math.inf
    return r if math.isfinite(r) else 1e9


def diagnose(log):
    if len(log) <= 19:
        raise ValueError(len(log))
    c = math.log(log[0]["num_classes"])
    l = [row["loss"] / c if math.isfinite(row["loss"]) else 1e9 for row in log]
    g = [_ratio(row["grad_norm"], log[0]["grad_norm"]) for row in log]
    n = len(l)
    late = sum(min(v, 3) for v in l[n // 2 :]) / (n - n // 2)
    score = {
        "amp_no_scaling": 100 * (log[0]["grad_zero_fraction"] > 0.1),
        "loss_sum": 90 * (l[0] > 5.5),
        "missing_zero_grad": 50
        * (all(v < 1.45 for v in l[:5]) and l[2] > 0.6 * l[0])
        * (g[5] > 2.2)
        * (g[3] > 1.4)
        * (g[5] < 12),
        "huge_lr": 40 * (max(l) > 2 or l[2] < 0.6 * l[0]),
        "label_permute": 10 * (late > 0.8),
        "healthy": 5,
    }
    return max(score, key=score.get)
