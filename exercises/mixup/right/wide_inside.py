import torch


def mixup(x, y, alpha=0.2):
    if alpha < 0:
        raise ValueError(f"alpha must be at least 0, got {alpha}")
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"batch sizes differ: {x.shape[0]} and {y.shape[0]}")
    if not x.dtype.is_floating_point:
        raise TypeError(f"cannot mix {x.dtype}")
    n = x.shape[0]
    if alpha == 0:
        perm = torch.arange(n, device=x.device)
        lam = 1.0
    else:
        perm = torch.randperm(n, device=x.device)
        lam = (
            torch.distributions.Dirichlet(torch.tensor([alpha, alpha], dtype=torch.float64))
            .sample()[0]
            .item()
        )
    wide = x.double()
    mixed = wide * lam + wide[perm] * (1.0 - lam)
    return mixed.to(x.dtype), y, y[perm], lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    total = lam * loss_fn(pred, y_a)
    total = total + (1 - lam) * loss_fn(pred, y_b)
    return total
