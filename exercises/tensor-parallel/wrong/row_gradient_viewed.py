# fails: 11
# message: nor the gradient that reaches it
# One autograd function per layer, backward written by hand, matmuls flattened.
import torch
import torch.distributed as dist
from torch import nn


class _Col(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, group):
        ctx.save_for_backward(x, w)
        ctx.group = group
        y = x.reshape(-1, x.shape[-1]).mm(w.t())
        if b is not None:
            y += b
        return y.view(*x.shape[:-1], w.shape[0])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g2 = g.reshape(-1, g.shape[-1])
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = g2.mm(w)
            work = dist.all_reduce(gx, group=ctx.group, async_op=True)
        if ctx.needs_input_grad[1]:
            gw = g2.t().mm(x.reshape(-1, x.shape[-1]))
        if ctx.needs_input_grad[2]:
            gb = g2.sum(0)
        if gx is not None:
            work.wait()
            gx = gx.view(x.shape)
        return gx, gw, gb, None


class _Row(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, group):
        ctx.save_for_backward(x, w)
        y = x.reshape(-1, x.shape[-1]).mm(w.t())
        dist.all_reduce(y, group=group)
        if b is not None:
            y += b
        return y.view(*x.shape[:-1], w.shape[0])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g2 = g.view(-1, g.shape[-1])
        gx = g2.mm(w).view(x.shape) if ctx.needs_input_grad[0] else None
        gw = g2.t().mm(x.reshape(-1, x.shape[-1])) if ctx.needs_input_grad[1] else None
        gb = g2.sum(0) if ctx.needs_input_grad[2] else None
        return gx, gw, gb, None


class ColumnParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        t, r = dist.get_world_size(group), dist.get_rank(group)
        if full.weight.shape[0] % t:
            raise ValueError("out features not divisible by group size")
        self.group = group
        with torch.no_grad():
            self.weight = nn.Parameter(full.weight.unflatten(0, (t, -1))[r].clone())
            self.bias = nn.Parameter(full.bias.view(t, -1)[r].clone()) if full.bias is not None else None

    def forward(self, x):
        return _Col.apply(x, self.weight, self.bias, self.group)


class RowParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        t, r = dist.get_world_size(group), dist.get_rank(group)
        if full.weight.shape[1] % t:
            raise ValueError("in features not divisible by group size")
        self.group = group
        with torch.no_grad():
            self.bias = nn.Parameter(full.bias.clone()) if full.bias is not None else None
            self.weight = nn.Parameter(full.weight.unflatten(1, (t, -1))[:, r].contiguous().clone())

    def forward(self, x):
        return _Row.apply(x, self.weight, self.bias, self.group)
