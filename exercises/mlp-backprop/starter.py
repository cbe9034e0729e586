"""Loss and gradients of a two-layer MLP, by hand."""

from collections.abc import Callable
from typing import Any

import torch


def forward(
    X: torch.Tensor,
    y: torch.Tensor,
    W1: torch.Tensor,
    b1: torch.Tensor,
    W2: torch.Tensor,
    b2: torch.Tensor,
) -> tuple[torch.Tensor, Any]:
    """The mean cross-entropy of relu(X @ W1 + b1) @ W2 + b2, and whatever
    `backward` needs.
    """
    raise NotImplementedError


def backward(cache: Any) -> dict[str, torch.Tensor]:
    """The gradients of the loss by "X", "W1", "b1", "W2" and "b2"."""
    raise NotImplementedError


def gradient_check(
    f: Callable[[torch.Tensor], torch.Tensor | float],
    x: torch.Tensor,
    eps: float = 1e-6,
) -> torch.Tensor:
    """The numerical gradient of the scalar function ``f`` at ``x``, by central
    differences.
    """
    raise NotImplementedError
