"""A gather that autograd can differentiate, under activation checkpointing, which gathers again."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shard, group):
        ctx.group = group
        out = torch.empty(shard.numel() * dist.get_world_size(group), dtype=shard.dtype, device=shard.device)
        dist.all_gather_into_tensor(out, shard, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        size = dist.get_world_size(ctx.group)
        out = torch.empty(grad.numel() // size, dtype=grad.dtype, device=grad.device)
        dist.reduce_scatter_tensor(out, grad.contiguous(), dist.ReduceOp.SUM, ctx.group)
        return out.div_(size), None


class ShardedLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        if not isinstance(full, nn.Linear):
            raise TypeError("nn.Linear expected")
        self.out_features, self.in_features = full.weight.shape
        self._bias, self._group = full.bias is not None, group
        p, r = dist.get_world_size(group), dist.get_rank(group)
        with torch.no_grad():
            flat = torch.cat([t.reshape(-1) for t in (full.weight, full.bias) if t is not None])
            width = (flat.numel() + p - 1) // p
            shard = torch.zeros(width, dtype=flat.dtype, device=flat.device)
            own = flat[r * width : (r + 1) * width]
            shard[: own.numel()] = own
        self.shard = nn.Parameter(shard)

    def _whole(self, shard):
        sizes = [self.out_features * self.in_features, self.out_features if self._bias else 0]
        flat = Gather.apply(shard, self._group)
        w, b, _ = flat.split([*sizes, flat.numel() - sum(sizes)])
        return w.view(self.out_features, self.in_features), b if self._bias else None

    def _linear(self, x, shard):
        return F.linear(x, *self._whole(shard))

    def forward(self, x):
        if not torch.is_grad_enabled():
            return self._linear(x, self.shard)
        return checkpoint(self._linear, x, self.shard, use_reentrant=False, preserve_rng_state=False)

    @torch.no_grad()
    def full_parameters(self):
        return self._whole(self.shard)


def clip_grad_norm_(model, max_norm, group=None):
    if max_norm <= 0:
        raise ValueError("max_norm must be above 0")
    shard = next(model.parameters())
    square = shard.new_zeros(1, dtype=torch.float32)
    for p in model.parameters():
        if p.grad is not None:
            square += p.grad.detach().float().norm() ** 2
    dist.all_reduce(square, group=group)
    total = square.squeeze().sqrt()
    factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.detach().mul_(factor.to(p.grad.dtype))
    return total
