import torch
from torch import nn
from torch.distributed import all_reduce, get_rank, get_world_size


class Conjugate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, sum_forward):
        ctx.group, ctx.sum_forward = group, sum_forward
        if not sum_forward:
            return x
        y = x.detach().clone()
        all_reduce(y, group=group)
        return y

    @staticmethod
    def backward(ctx, grad):
        if ctx.sum_forward:
            return grad, None, None
        return Conjugate.apply(grad, ctx.group, True), None, None


class Shard(nn.Linear):
    """An nn.Linear with the shard's shape."""

    def __init__(self, full, group, d_in, d_out, rows, columns, bias):
        super().__init__(
            d_in, d_out, bias=full.bias is not None, dtype=full.weight.dtype, device=full.weight.device
        )
        self.group = group
        with torch.no_grad():
            self.weight.copy_(full.weight[rows, columns])
            if full.bias is not None:
                self.bias = nn.Parameter(full.bias[bias].clone())


class ColumnParallelLinear(Shard):
    def __init__(self, full, group=None):
        t = get_world_size(group)
        n, rest = divmod(full.out_features, t)
        if rest:
            raise ValueError("out_features is not divisible")
        mine = slice(n * get_rank(group), n * (get_rank(group) + 1))
        super().__init__(full, group, full.in_features, n, mine, slice(None), mine)

    def forward(self, x):
        return super().forward(Conjugate.apply(x, self.group, False))


class RowParallelLinear(Shard):
    def __init__(self, full, group=None):
        t = get_world_size(group)
        n, rest = divmod(full.in_features, t)
        if rest:
            raise ValueError("in_features is not divisible")
        mine = slice(n * get_rank(group), n * (get_rank(group) + 1))
        super().__init__(full, group, n, full.out_features, slice(None), mine, slice(None))

    def forward(self, x):
        y = Conjugate.apply(nn.functional.linear(x, self.weight), self.group, True)
        return y if self.bias is None else torch.add(y, self.bias)
