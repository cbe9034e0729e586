# fails: 6
# message: is not the matching
"""One autograd function per layer, every product written out."""

import torch
import torch.distributed as dist
from torch import nn


class _Column(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, group):
        ctx.save_for_backward(x, w)
        ctx.group = group
        y = torch.einsum("...i,oi->...o", x, w)
        return y if b is None else y + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g2, x2 = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        gx = None
        if ctx.needs_input_grad[0]:
            gx = (g2 @ w).reshape(x.shape)
            dist.all_reduce(gx, group=ctx.group)
        gb = g2.sum(0) if ctx.needs_input_grad[2] else None
        return gx, g2.t() @ x2, (g2.sum(0) if g.dim() > 2 else g2[0]) if gb is not None else None, None


class _Row(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, group):
        ctx.save_for_backward(x, w)
        y = torch.einsum("...i,oi->...o", x, w).contiguous()
        dist.all_reduce(y, group=group)
        return y if b is None else y.add_(b)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g2, x2 = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        return (g2 @ w).reshape(x.shape), g2.t() @ x2, g2.sum(0) if ctx.needs_input_grad[2] else None, None


class _Sharded(nn.Module):
    dim = 0
    rule = _Column

    def __init__(self, full, group=None):
        super().__init__()
        world, rank = dist.get_world_size(group), dist.get_rank(group)
        size = full.weight.shape[self.dim]
        if size % world != 0:
            raise ValueError("not divisible")
        self.group = group
        self.weight = nn.Parameter(
            full.weight.data.chunk(world, self.dim)[rank].clone(memory_format=torch.contiguous_format)
        )
        bias = full.bias
        if bias is not None:
            bias = nn.Parameter((bias.data.chunk(world)[rank] if self.dim == 0 else bias.data).clone())
        self.register_parameter("bias", bias)

    def forward(self, x):
        return self.rule.apply(x, self.weight, self.bias, self.group)


class ColumnParallelLinear(_Sharded):
    pass


class RowParallelLinear(_Sharded):
    dim = 1
    rule = _Row
