# fails: 9
# message: keeps the group
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


GROUP = None


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous().clone()
        dist.all_reduce(g, group=ctx.group)
        return g, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        y = x.contiguous().clone()
        dist.all_reduce(y, group=group)
        return y

    @staticmethod
    def backward(ctx, g):
        return g, None


class ColumnParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        global GROUP
        GROUP = group
        t = dist.get_world_size(group)
        r = dist.get_rank(group)
        if full.out_features % t:
            raise ValueError("out_features")
        n = full.out_features // t
        self.weight = nn.Parameter(full.weight.detach()[r * n : (r + 1) * n].clone())
        if full.bias is None:
            self.bias = None
        else:
            self.bias = nn.Parameter(full.bias.detach()[r * n : (r + 1) * n].clone())

    def forward(self, x):
        return F.linear(Copy.apply(x, GROUP), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        global GROUP
        GROUP = group
        t = dist.get_world_size(group)
        r = dist.get_rank(group)
        if full.in_features % t:
            raise ValueError("in_features")
        n = full.in_features // t
        self.weight = nn.Parameter(full.weight.detach()[:, r * n : (r + 1) * n].clone())
        if full.bias is None:
            self.bias = None
        else:
            self.bias = nn.Parameter(full.bias.detach().clone())

    def forward(self, x):
        y = Reduce.apply(F.linear(x, self.weight), GROUP)
        if self.bias is not None:
            y = y + self.bias
        return y
