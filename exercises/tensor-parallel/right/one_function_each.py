import torch
import torch.distributed as dist
from torch import nn
from torch.autograd import Function


class _Column(Function):
    """The whole layer with its own backward."""

    @staticmethod
    def forward(ctx, x, weight, bias, group):
        ctx.save_for_backward(x, weight)
        ctx.group, ctx.has_bias = group, bias is not None
        out = x.matmul(weight.t())
        return out + bias if bias is not None else out

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = g.matmul(weight).contiguous()
            work = dist.all_reduce(gx, group=ctx.group, async_op=True)
        g2 = g.reshape(-1, g.shape[-1])
        gw = g2.t().mm(x.reshape(-1, x.shape[-1]))
        if ctx.has_bias:
            gb = g2.sum(0)
        if gx is not None:
            work.wait()
        return gx, gw, gb, None


class _Row(Function):
    @staticmethod
    def forward(ctx, x, weight, group):
        ctx.save_for_backward(x, weight)
        out = x.matmul(weight.t())
        dist.all_reduce(out, group=group)
        return out

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        gw = g.reshape(-1, g.shape[-1]).t().mm(x.reshape(-1, x.shape[-1]))
        return g.matmul(weight), gw, None


def take(t, dim, group):
    n = dist.get_world_size(group)
    if t.size(dim) % n:
        raise ValueError(f"{t.size(dim)} / {n}")
    width = t.size(dim) // n
    return nn.Parameter(t.detach().narrow(dim, dist.get_rank(group) * width, width).clone().contiguous())


class ColumnParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        self.weight = take(full.weight, 0, group)
        self.bias = take(full.bias, 0, group) if full.bias is not None else None
        self._group = group

    def forward(self, x):
        return _Column.apply(x, self.weight, self.bias, self._group)


class RowParallelLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        weight = take(full.weight, 1, group)
        self.weight = nn.Parameter(weight.data.contiguous().clone(memory_format=torch.contiguous_format))
        self.bias = nn.Parameter(full.bias.detach().clone()) if full.bias is not None else None
        self._group = group

    def forward(self, x):
        out = _Row.apply(x, self.weight, self._group)
        return out + self.bias if self.bias is not None else out
