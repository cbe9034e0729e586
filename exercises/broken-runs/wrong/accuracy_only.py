# fails: 3
# message:
def diagnose(log):
    if len(log) < 20:
        raise ValueError("short")
    seen = [row["val_accuracy"] for row in log if row["val_accuracy"] is not None]
    if log[0]["grad_zero_fraction"] > 0.1:
        return "amp_no_scaling"
    if log[0]["loss"] > 12:
        return "loss_sum"
    if log[5]["grad_norm"] > 2 * log[0]["grad_norm"]:
        return "missing_zero_grad" if seen[5 % len(seen)] > 0.3 else "huge_lr"
    if seen[-1] > 0.9:
        return "healthy"
    return "huge_lr" if seen[-1] > 0.4 else "label_permute"
