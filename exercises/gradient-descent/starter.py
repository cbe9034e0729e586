"""Gradient descent on any differentiable function."""

from collections.abc import Callable

import torch


def gradient_descent(
    f: Callable[[torch.Tensor], torch.Tensor],
    x0: torch.Tensor,
    lr: float,
    steps: int,
    tol: float = 0.0,
) -> tuple[torch.Tensor, list[float]]:
    """Take at most ``steps`` steps from ``x0`` down the gradient of ``f``;
    return the last x and the losses.
    """
    raise NotImplementedError
