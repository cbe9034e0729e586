# fails: 4
# message: does not exist
from collections.abc import Callable

import torch


def mixup(
    x: torch.Tensor, y: torch.Tensor, alpha: float = 0.2
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    """Blend a batch with a permutation of itself; returns mixed_x, y_a, y_b, lam."""
    if not x.is_floating_point():
        raise TypeError(f"x has to be floating point, got {x.dtype}")
    if len(x) != len(y):
        raise ValueError(f"{len(x)} inputs, but {len(y)} targets")
    if alpha <= 0:
        raise ValueError("alpha must not be negative")
    if alpha == 0:
        return x, y, y, 1.0
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    perm = torch.randperm(len(x), device=x.device)
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


def mixup_loss(
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    pred: torch.Tensor,
    y_a: torch.Tensor,
    y_b: torch.Tensor,
    lam: float,
) -> torch.Tensor:
    """The loss of predictions on a mixed batch."""
    return lam * loss_fn(pred, y_a) + (1 - lam) * loss_fn(pred, y_b)
