# fails: 2
# message: Examples are only swapped in pairs
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
    perm = torch.randperm(x.shape[0])
    h = len(perm) // 2
    q = torch.arange(len(perm))
    q[perm[:h]] = perm[h : 2 * h]
    q[perm[h : 2 * h]] = perm[:h]
    perm = q
    mixed = lam * x + (1 - lam) * x[perm]
    return mixed, y, y[perm], lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    return lam * loss_fn(pred, y_a) + (1 - lam) * loss_fn(pred, y_b)
