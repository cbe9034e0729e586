# fails: 3
# message: switches mixing off
import torch


def mixup(x, y, alpha=0.2):
    if alpha < 0 or len(x) != len(y):
        raise ValueError("alpha >= 0 and one target per example")
    if not x.is_floating_point():
        raise TypeError("x must be floating point")
    lam = torch.distributions.Beta(alpha, alpha).sample().item() if alpha >= 0.1 else 1.0
    perm = torch.randperm(len(x), device=x.device)
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    return lam * loss_fn(pred, y_a) + (1 - lam) * loss_fn(pred, y_b)
