# fails: 1
# message: the nearest
import math


def diagnose(log):
    if len(log) < 20:
        raise ValueError("need at least 20 batches")
    chance = math.log(log[0]["num_classes"])
    losses = [b["loss"] / chance for b in log]
    norms = [b["grad_norm"] for b in log]
    if not losses[0] < 4:
        return "loss_sum"
    if log[0]["grad_zero_fraction"] > 0.15:
        return "amp_no_scaling"
    if not all(x < 10 for x in losses[:11]):
        return "huge_lr"
    if not norms[5] < 2.2 * norms[0]:
        return "missing_zero_grad"
    tail = [x for x in losses[-10:] if math.isfinite(x)]
    if tail and 0.85 < sum(tail) / len(tail) < 0.95:
        return "unknown"
    return "label_permute" if not tail or sum(tail) / len(tail) > 0.85 else "healthy"
