# fails: 11
# message: need not be contiguous
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class _Copy(torch.autograd.Function):
    """Identity forward, sum backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(g, group=ctx.group)
        return g, None


class _Sum(torch.autograd.Function):
    """Sum forward, identity backward."""

    @staticmethod
    def forward(ctx, x, group):
        y = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(y, group=group)
        return y

    @staticmethod
    def backward(ctx, g):
        return g, None


def _place(size, group):
    t, r = dist.get_world_size(group), dist.get_rank(group)
    if size % t:
        raise ValueError(f"{size} features cannot be split over {t} ranks")
    n = size // t
    return slice(r * n, (r + 1) * n)


def _param(t):
    return nn.Parameter(t.detach().clone(memory_format=torch.contiguous_format))


class ColumnParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        self.group = group
        part = _place(full.out_features, group)
        self.weight = _param(full.weight[part])
        self.bias = None if full.bias is None else _param(full.bias[part])

    def forward(self, x):
        return F.linear(_Copy.apply(x, self.group).view(-1, x.shape[-1]), self.weight, self.bias).view(
            *x.shape[:-1], -1
        )


class RowParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        self.group = group
        part = _place(full.in_features, group)
        self.weight = _param(full.weight[:, part])
        self.bias = None if full.bias is None else _param(full.bias)

    def forward(self, x):
        y = _Sum.apply(F.linear(x, self.weight), self.group)
        return y if self.bias is None else y + self.bias
