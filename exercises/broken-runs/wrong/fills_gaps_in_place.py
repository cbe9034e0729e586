# fails: 10
# message: changed the log
import math


def diagnose(log: list[dict]) -> str:
    """The cause of the run in ``log``: one of six names."""
    if len(log) < 20:
        raise ValueError("a log needs at least 20 batches")
    last = 0.0
    for row in log:
        if row["val_accuracy"] is None:
            row["val_accuracy"] = last
        last = row["val_accuracy"]
    chance = math.log(log[0]["num_classes"])
    losses = [row["loss"] / chance for row in log]
    norms = [row["grad_norm"] for row in log]
    finite = [loss for loss in losses if math.isfinite(loss)]

    if log[0]["grad_zero_fraction"] > 0.1:
        return "amp_no_scaling"
    if losses[0] > 5:
        return "loss_sum"
    early = norms[:6]
    calm = all(loss < 1.5 for loss in losses[:6]) and losses[1] > 0.7 * losses[0]
    if calm and all(math.isfinite(n) for n in early):
        steps = [b / a for a, b in zip(early, early[1:])]
        if early[5] > 2.2 * early[0] and sum(step > 1 for step in steps) >= 4 and max(steps) < 3:
            return "missing_zero_grad"
    if len(finite) < len(losses) or max(finite) > 2 or losses[2] < 0.6 * losses[0]:
        return "huge_lr"
    tail = finite[len(finite) // 2 :]
    return "label_permute" if sum(tail) / len(tail) > 0.8 else "healthy"
