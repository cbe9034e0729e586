import torch
from torch.distributions import Beta


def mixup(x, y, alpha=0.2):
    if not torch.is_floating_point(x):
        raise TypeError("x must be floating")
    if x.size(0) != y.size(0):
        raise ValueError("length")
    if alpha < 0:
        raise ValueError("alpha")
    lam = float(Beta(torch.tensor(float(alpha)), torch.tensor(float(alpha))).sample()) if alpha > 0 else 1.0
    index = torch.randperm(x.shape[0]).to(x.device)
    return torch.lerp(x[index], x, lam), y, y[index], lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    return torch.lerp(loss_fn(pred, y_b), loss_fn(pred, y_a), lam)
