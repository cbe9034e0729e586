"""Collectives from point-to-point messages: a ring, and what can be built on it.

Invariant: in step s every rank sends one piece to its right neighbor and receives one from its left. In the
all-gather a piece travels on unchanged, so in step s rank r gets the piece of place r - s - 1. In the
reduce-scatter the running sum of a piece travels: the sum that ends at place r starts at place r + 1.
"""

import torch
import torch.distributed as dist
from torch import Tensor


def pass_on(outgoing: Tensor, incoming: Tensor, group: dist.ProcessGroup | None) -> None:
    """Send to the right neighbor and receive from the left one, without waiting for each other."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    right, left = (rank + 1) % size, (rank - 1) % size
    request = dist.isend(outgoing, group=group, group_dst=right)
    dist.recv(incoming, group=group, group_src=left)
    request.wait()


def all_gather(x: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """(m, ...) on each of p ranks -> (p * m, ...) on all of them, in the order of their places."""
    if x.dim() == 0:
        raise ValueError("x needs a dimension to be joined along")
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    pieces = torch.empty((size, *x.shape), dtype=x.dtype, device=x.device)
    pieces[rank] = x
    for step in range(size - 1):
        pass_on(pieces[(rank - step) % size], pieces[(rank - step - 1) % size], group)
    return pieces.flatten(0, 1)


def reduce_scatter(x: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """(n, ...) -> (n / p, ...), this rank's part of the sum over the ranks."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if x.dim() == 0 or x.shape[0] % size:
        raise ValueError(f"dimension 0 of {tuple(x.shape)} cannot be cut in {size}")
    parts = x.reshape(size, x.shape[0] // size, *x.shape[1:])
    total = parts[(rank - 1) % size].clone(memory_format=torch.contiguous_format)
    for step in range(size - 1):
        incoming = torch.empty_like(total)
        pass_on(total, incoming, group)
        total = incoming + parts[(rank - step - 2) % size]
    return total


def all_reduce(x: Tensor, group: dist.ProcessGroup | None = None) -> Tensor:
    """The sum over the ranks, for a tensor of any shape."""
    size = dist.get_world_size(group)
    padded = x.new_zeros(-(-x.numel() // size) * size)
    padded[: x.numel()] = x.reshape(-1)
    total = all_gather(reduce_scatter(padded, group), group)
    return total[: x.numel()].clone().reshape(x.shape)


def sharded_matmul(
    x: Tensor,
    weight: Tensor,
    group: dist.ProcessGroup | None = None,
    scatter: bool = False,
) -> Tensor:
    """(..., K / p) and (K / p, N) -> (..., N), with ``scatter`` only this rank's part of dimension 0."""
    if weight.dim() != 2 or x.dim() == 0 or x.shape[-1] != weight.shape[0]:
        raise ValueError(f"{tuple(x.shape)} times {tuple(weight.shape)} is undefined")
    product = x @ weight
    return reduce_scatter(product, group) if scatter else all_reduce(product, group)
