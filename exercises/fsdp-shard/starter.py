"""Fully sharded data parallelism for linear layers."""

import torch.distributed as dist
from torch import Tensor, nn


class ShardedLinear(nn.Module):
    """A linear layer of which every rank keeps one of p equal parts.

    Its only parameter is ``shard``, a vector: this rank's part of the
    flattened weight and bias, padded with zeros to a multiple of p.
    """

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)"""
        raise NotImplementedError

    def full_parameters(self) -> tuple[Tensor, Tensor | None]:
        """Weight (out, in) and bias (out,), gathered from the shards."""
        raise NotImplementedError


def clip_grad_norm_(
    model: nn.Module,
    max_norm: float,
    group: dist.ProcessGroup | None = None,
) -> Tensor:
    """Scale the gradients to a global 2-norm of at most ``max_norm``.

    Returns the global norm before clipping, a 0-dimensional tensor.
    """
    raise NotImplementedError
