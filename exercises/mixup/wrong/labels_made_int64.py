# fails: 7
# message: another dtype
import torch
from torch import Tensor


def mixup(x: Tensor, y: Tensor, alpha: float = 0.2):
    if not torch.is_floating_point(x):
        raise TypeError("x")
    if alpha < 0 or len(x) != len(y):
        raise ValueError("arguments")
    order = torch.rand(len(x)).argsort().to(x.device)
    lam = 1.0
    if alpha > 0:
        lam = (
            torch.distributions.Beta(
                torch.tensor(float(alpha), dtype=torch.float64),
                torch.tensor(float(alpha), dtype=torch.float64),
            )
            .sample()
            .item()
        )
    partner = torch.index_select(x, 0, order)
    return (
        torch.lerp(partner, x, lam)
        if x.dtype != torch.bfloat16
        else (partner.float() + lam * (x.float() - partner.float())).bfloat16(),
        y.clone(),
        y[order].long() if y.dim() == 1 else y[order],
        lam,
    )


def mixup_loss(loss_fn, pred, y_a, y_b, lam):
    losses = (loss_fn(pred, t) for t in (y_a, y_b))
    return sum(w * loss for w, loss in zip((lam, 1 - lam), losses))
