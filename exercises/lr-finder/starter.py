"""Learning-rate range test."""

from collections.abc import Callable, Iterable, Sequence

import torch


def lr_range_test(
    model: torch.nn.Module,
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    lr_min: float = 1e-6,
    lr_max: float = 1.0,
    num_steps: int = 50,
    stop_factor: float = 4.0,
) -> tuple[list[float], list[float]]:
    """Run SGD with a growing rate; return rates and losses, and leave the model
    as it was.
    """
    raise NotImplementedError


def suggest_lr(
    lrs: Sequence[float],
    losses: Sequence[float],
    beta: float = 0.0,
) -> float:
    """The rate at the steepest fall of the smoothed losses."""
    raise NotImplementedError
