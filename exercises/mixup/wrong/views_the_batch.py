# fails: 11
# message: view
import torch


def mixup(x, y, alpha=0.2):
    if alpha < 0 or len(x) != len(y):
        raise ValueError("alpha >= 0 and one target per example")
    if not x.is_floating_point():
        raise TypeError("x must be floating point")
    lam = torch.distributions.Beta(alpha, alpha).sample().item() if alpha else 1.0
    perm = torch.randperm(len(x), device=x.device)
    flat = x.view(len(x), -1)
    return (lam * flat + (1 - lam) * flat[perm]).view(x.shape), y, y[perm], lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    return lam * loss_fn(pred, y_a) + (1 - lam) * loss_fn(pred, y_b)
