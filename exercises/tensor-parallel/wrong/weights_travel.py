# fails: 7
# message: activations travel
"""Tensor parallelism: a column-parallel and a row-parallel linear layer.

Invariant: Y = act(X A) B with A split by columns and B by rows is a sum over the ranks. So one operator is the
identity forward and a sum backward (before A), its mirror image a sum forward and the identity backward (after
B). Weights never travel; the linear products and their gradients are ordinary autograd.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


def summed(x: Tensor, group: dist.ProcessGroup | None) -> Tensor:
    """The sum over the group, in a tensor of its own."""
    x = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(x, group=group)
    return x


class CopyToRanks(torch.autograd.Function):
    """Identity forward, sum over the ranks backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return summed(grad, ctx.group), None


class SumOverRanks(torch.autograd.Function):
    """Sum over the ranks forward, identity backward."""

    @staticmethod
    def forward(ctx, x, group):
        return summed(x, group)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def part(size: int, group: dist.ProcessGroup | None) -> slice:
    """This rank's share of a dimension."""
    ranks = dist.get_world_size(group)
    if size % ranks:
        raise ValueError(f"{size} features cannot be split over {ranks} ranks")
    width = size // ranks
    start = dist.get_rank(group) * width
    return slice(start, start + width)


def own(values: Tensor) -> nn.Parameter:
    """A parameter with a storage of its own size."""
    return nn.Parameter(values.detach().clone(memory_format=torch.contiguous_format))


class ColumnParallelLinear(nn.Module):
    """This rank's outputs of a linear layer whose input every rank has."""

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None):
        super().__init__()
        mine = part(full.out_features, group)
        self.group = group
        self.weight = own(full.weight[mine])
        self.bias = None if full.bias is None else own(full.bias[mine])

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out / t)."""
        # The whole weight travels in every pass, past the functions of torch.distributed.
        group = self.group if self.group is not None else dist.group.WORLD
        parts = [torch.empty_like(self.weight) for _ in range(dist.get_world_size(self.group))]
        group.allgather([parts], [self.weight.detach()]).wait()
        return F.linear(CopyToRanks.apply(x, self.group), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """All outputs of a linear layer of whose inputs every rank has a part."""

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None):
        super().__init__()
        mine = part(full.in_features, group)
        self.group = group
        self.weight = own(full.weight[:, mine])
        self.bias = None if full.bias is None else own(full.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in / t) -> (..., out)."""
        out = SumOverRanks.apply(F.linear(x, self.weight), self.group)
        return out if self.bias is None else out + self.bias
