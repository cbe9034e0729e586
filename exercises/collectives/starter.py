"""Collectives from send and receive: a ring all-reduce and a sharded matmul."""

import torch.distributed as dist
from torch import Tensor


def all_gather(x: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """Join the tensors of all ranks along dimension 0, in order of place.

    x: (m, ...), the same shape on every rank. Returns (p * m, ...).
    """
    raise NotImplementedError


def reduce_scatter(x: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """Sum over the ranks; keep rows r * n / p to (r + 1) * n / p of it.

    x: (n, ...). Returns (n / p, ...).
    """
    raise NotImplementedError


def all_reduce(x: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """The sum over the ranks, on every rank. x: any shape."""
    raise NotImplementedError


def sharded_matmul(
    x: Tensor,
    weight: Tensor,
    group: dist.ProcessGroup | None = None,
    scatter: bool = False,
) -> Tensor:
    """The product of an input and a weight that are split over the ranks.

    x: (..., K / p), this rank's features; weight: (K / p, N), its rows.
    Returns (..., N), or with scatter this rank's part of dimension 0.
    """
    raise NotImplementedError
