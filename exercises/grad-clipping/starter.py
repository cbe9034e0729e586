"""Clipping gradients by global norm and by value."""

from collections.abc import Iterable

import torch


def clip_grad_norm(
    parameters: torch.Tensor | Iterable[torch.Tensor],
    max_norm: float,
) -> torch.Tensor:
    """Scale the gradients in place to a global L2 norm of at most ``max_norm``;
    return the norm before.
    """
    raise NotImplementedError


def clip_grad_value(
    parameters: torch.Tensor | Iterable[torch.Tensor],
    clip_value: float,
) -> None:
    """Limit every element of the gradients to [-clip_value, clip_value], in
    place.
    """
    raise NotImplementedError
