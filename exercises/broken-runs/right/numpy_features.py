import numpy as np


class ShortLog(ValueError):
    pass


def column(log, key):
    return np.array([np.nan if row[key] is None else row[key] for row in log], dtype=float)


def diagnose(log):
    if len(log) < 20:
        raise ShortLog(f"{len(log)} batches")
    loss = column(log, "loss") / np.log(log[0]["num_classes"])
    norm = column(log, "grad_norm")
    zeros = column(log, "grad_zero_fraction")
    if zeros[0] > 0.09:
        return "amp_no_scaling"
    if loss[0] > 6:
        return "loss_sum"
    ratio = norm[:7] / norm[0]
    if np.isfinite(ratio).all() and np.nanmax(loss[:5]) < 1.6:
        slope = np.polyfit(np.arange(6), ratio[:6], 1)[0]
        spread = np.abs(np.diff(ratio[:6])).max()
        if slope > 0.25 and ratio[1] > 1.1 and ratio[4] > 1.8 and spread < 2 and loss[1] > 0.65 * loss[0]:
            return "missing_zero_grad"
    bad = ~np.isfinite(loss)
    if bad.any() or loss.max() > 2.2 or loss[1:4].min() < 0.55:
        return "huge_lr"
    return "healthy" if np.median(loss[-10:]) < 0.85 else "label_permute"
