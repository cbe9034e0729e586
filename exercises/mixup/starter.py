from collections.abc import Callable

import torch


def mixup(
    x: torch.Tensor,
    y: torch.Tensor,
    alpha: float = 0.2,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    """Blend a batch with a permutation of itself; returns mixed_x, y_a, y_b,
    lam.
    """
    raise NotImplementedError


def mixup_loss(
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    pred: torch.Tensor,
    y_a: torch.Tensor,
    y_b: torch.Tensor,
    lam: float,
) -> torch.Tensor:
    """The loss of predictions on a mixed batch."""
    raise NotImplementedError
