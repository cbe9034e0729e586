"""Collectives on lists, einsum, and the gradient divided before it is sent."""

import math

import torch
import torch.distributed as dist


class Gathered:
    """How a layer is laid out over the ranks."""

    def __init__(self, layer, group):
        self.rows, self.columns = layer.out_features, layer.in_features
        self.bias = layer.bias is not None
        self.group = group if group is not None else dist.group.WORLD
        self.p = dist.get_world_size(self.group)
        self.n = self.rows * self.columns + (self.rows if self.bias else 0)
        self.width = math.ceil(self.n / self.p)

    def collect(self, shard):
        pieces = [torch.zeros_like(shard) for _ in range(self.p)]
        dist.all_gather(pieces, shard, self.group)
        everything = torch.cat(pieces)[: self.n]
        weight = everything[: self.rows * self.columns].reshape(self.rows, self.columns)
        return weight, everything[self.rows * self.columns :] if self.bias else None

    def scatter(self, vector):
        padded = vector.new_zeros(self.p, self.width)
        padded.view(-1)[: self.n] = vector / self.p
        mine = torch.zeros_like(padded[0])
        dist.reduce_scatter(mine, [row.contiguous() for row in padded], group=self.group)
        return mine


class Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shard, x, plan):
        ctx.plan = plan
        ctx.save_for_backward(shard, x)
        w, b = plan.collect(shard)
        y = torch.einsum("...i,oi->...o", x, w)
        return y if b is None else y + b

    @staticmethod
    def backward(ctx, g):
        shard, x = ctx.saved_tensors
        w, _ = ctx.plan.collect(shard)
        dx = torch.einsum("...o,oi->...i", g, w)
        dw = torch.einsum("...o,...i->oi", g, x).reshape(-1)
        if ctx.plan.bias:
            dw = torch.cat((dw, torch.einsum("...o->o", g)))
        return ctx.plan.scatter(dw), dx, None


class ShardedLinear(torch.nn.Module):
    def __init__(self, full, group=None):
        if not isinstance(full, torch.nn.Linear):
            raise TypeError(f"expected nn.Linear, got {type(full).__name__}")
        super().__init__()
        self.plan = Gathered(full, group)
        vector = torch.nn.utils.parameters_to_vector(p.detach() for p in full.parameters())
        buffer = vector.new_zeros(self.plan.p, self.plan.width)
        buffer.view(-1)[: self.plan.n] = vector
        self.register_parameter("shard", torch.nn.Parameter(buffer[dist.get_rank(self.plan.group)].clone()))

    def forward(self, x):
        return Apply.apply(self.shard, x, self.plan)

    def full_parameters(self):
        with torch.no_grad():
            weight, bias = self.plan.collect(self.shard.detach())
            return weight.clone(), None if bias is None else bias.clone()


def clip_grad_norm_(model, max_norm, group=None):
    if not max_norm > 0:
        raise ValueError("max_norm")
    shards = [p for p in model.parameters()]
    grads = [p.grad for p in shards if p.grad is not None]
    norms = [torch.linalg.vector_norm(g, dtype=torch.float64) for g in grads]
    squares = torch.stack(norms).pow(2).sum() if norms else torch.zeros((), dtype=torch.float64)
    squares = squares.reshape(1)
    dist.all_reduce(squares, op=dist.ReduceOp.SUM, group=group)
    norm = squares[0].sqrt()
    if norm > max_norm:
        with torch.no_grad():
            for g in grads:
                g *= (max_norm / norm).to(g.dtype)
    return norm
