import torch
import torch.distributed as dist
from torch import nn


class _Column(torch.autograd.Function):
    """The whole product with its backward rule; the traffic overlaps with the weight gradient."""

    @staticmethod
    def forward(ctx, x, w, b, group):
        ctx.group, ctx.has_bias = group, b is not None
        ctx.save_for_backward(x, w)
        y = torch.einsum("...i,oi->...o", x, w)
        return y if b is None else y + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = gw = gb = work = None
        if ctx.needs_input_grad[0]:
            gx = torch.einsum("...o,oi->...i", g, w).contiguous()
            work = dist.all_reduce(gx, group=ctx.group, async_op=True)
        flat = g.reshape(-1, g.shape[-1])
        if ctx.needs_input_grad[1]:
            gw = flat.t() @ x.reshape(-1, x.shape[-1])
        if ctx.has_bias and ctx.needs_input_grad[2]:
            gb = flat.sum(0)
        if work is not None:
            work.wait()
        return gx, gw, gb, None


class _Row(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, group):
        ctx.has_bias = b is not None
        ctx.save_for_backward(x, w)
        y = torch.einsum("...i,oi->...o", x, w).contiguous()
        dist.all_reduce(y, group=group)
        return y if b is None else y.add_(b)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        flat = g.reshape(-1, g.shape[-1])
        return g @ w, flat.t() @ x.reshape(-1, x.shape[-1]), flat.sum(0) if ctx.has_bias else None, None


def _cut(tensor, dim, group):
    if tensor.shape[dim] % dist.get_world_size(group):
        raise ValueError("not divisible")
    return nn.Parameter(
        tensor.detach()
        .tensor_split(dist.get_world_size(group), dim)[dist.get_rank(group)]
        .clone(memory_format=torch.contiguous_format)
    )


class ColumnParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        self.group = group
        self.weight = _cut(full.weight, 0, group)
        self.bias = None if full.bias is None else _cut(full.bias, 0, group)

    def forward(self, x):
        return _Column.apply(x, self.weight, self.bias, self.group)


class RowParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        self.group = group
        self.weight = _cut(full.weight, 1, group)
        self.bias = None if full.bias is None else nn.Parameter(full.bias.detach().clone())

    def forward(self, x):
        return _Row.apply(x, self.weight, self.bias, self.group)
