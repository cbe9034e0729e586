# fails: 13
# message: add no constant
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
    if not norms[5] / (norms[0] + 1e-12) < 2.2:
        return "missing_zero_grad"
    tail = [x for x in losses[-10:] if math.isfinite(x)]
    return "label_permute" if not tail or sum(tail) / len(tail) > 0.85 else "healthy"
