# fails: 5
# message: mixup_loss is not lam
import torch


def mixup(x, y, alpha=0.2):
    if not x.is_floating_point():
        raise TypeError("x must be floating point")
    if len(x) != len(y):
        raise ValueError("lengths")
    if alpha < 0:
        raise ValueError("alpha")
    if alpha == 0:
        lam = 1.0
    else:
        lam = torch.distributions.Beta(alpha, alpha).sample().item()
    perm = torch.randperm(x.shape[0], device=x.device)
    mixed = lam * x + (1 - lam) * x[perm]
    return mixed, y, y[perm], lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    if lam > 0.95:
        return loss_fn(pred, y_a)
    return lam * loss_fn(pred, y_a) + (1 - lam) * loss_fn(pred, y_b)
