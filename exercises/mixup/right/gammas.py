import torch


class NoFloat(TypeError):
    pass


def draw_beta(alpha):
    if alpha == 0:
        return 1.0
    pair = torch._standard_gamma(torch.full((2,), float(alpha), dtype=torch.float64))
    while not pair.sum() > 0:
        pair = torch._standard_gamma(torch.full((2,), float(alpha), dtype=torch.float64))
    return min(1.0, max(0.0, (pair[0] / pair.sum()).item()))


def mixup(x: torch.Tensor, y: torch.Tensor, alpha: float = 0.2):
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise NoFloat(x.dtype)
    if alpha < 0.0 or len(x) != len(y):
        raise ValueError("bad arguments")
    lam = draw_beta(alpha)
    order = torch.rand(len(x)).argsort().to(x.device)
    other = x.index_select(0, order)
    mixed = x.clone().mul_(lam).add_(other, alpha=1 - lam)
    return mixed, y.clone(), y.index_select(0, order), lam


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    a = loss_fn(pred, y_a)
    b = loss_fn(pred, y_b)
    return b + lam * (a - b)
