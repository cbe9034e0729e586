"""As FSDP1 does it: one buffer per layer, whose memory is released after use. Autograd computes the gradient."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, shard, layer):
        ctx.layer = layer
        ctx.save_for_backward(x)
        weight, bias = layer._fill()
        out = F.linear(x, weight, bias)
        layer._free()
        return out

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        layer = ctx.layer
        leaf = x.detach().requires_grad_()
        layer._fill()
        with torch.enable_grad():
            flat = layer._buffer.detach().requires_grad_()
            weight, bias = layer._views(flat)
            out = F.linear(leaf, weight, bias)
            grad_x, grad_flat = torch.autograd.grad(out, (leaf, flat), grad)
        del out, weight, bias, flat
        layer._free()
        part = torch.empty_like(layer.shard)
        dist.reduce_scatter_tensor(part, grad_flat, group=layer._group)
        return grad_x, part.mul(1 / dist.get_world_size(layer._group)), None


class ShardedLinear(nn.Module):
    def __init__(self, full, group=None):
        super().__init__()
        if not isinstance(full, nn.Linear):
            raise TypeError("nn.Linear only")
        self._group = group
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        self._out, self._in = full.weight.shape
        self._has_bias = full.bias is not None
        count = full.weight.numel() + (self._out if self._has_bias else 0)
        width = count // size + (count % size > 0)
        flat = torch.zeros(width * size, dtype=full.weight.dtype, device=full.weight.device)
        flat[: full.weight.numel()].view_as(full.weight).copy_(full.weight.detach())
        if self._has_bias:
            flat[full.weight.numel() : count] = full.bias.detach()
        self.shard = nn.Parameter(flat.narrow(0, rank * width, width).clone())
        flat.untyped_storage().resize_(0)
        self._buffer = flat

    def _views(self, flat):
        weight = flat[: self._out * self._in].view(self._out, self._in)
        return weight, flat[weight.numel() : weight.numel() + self._out] if self._has_bias else None

    def _fill(self):
        self._buffer.untyped_storage().resize_(self._buffer.numel() * self._buffer.element_size())
        dist.all_gather_into_tensor(self._buffer, self.shard.detach(), group=self._group)
        return self._views(self._buffer)

    def _free(self):
        self._buffer.untyped_storage().resize_(0)

    def forward(self, x):
        return _Run.apply(x, self.shard, self)

    @torch.no_grad()
    def full_parameters(self):
        weight, bias = (None if t is None else t.clone() for t in self._fill())
        self._free()
        return weight, bias


def clip_grad_norm_(model, max_norm, group=None):
    if max_norm <= 0:
        raise ValueError("max_norm <= 0")
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    mine = torch.cat([g.flatten().float() for g in grads]) if grads else torch.zeros(1)
    total = mine.dot(mine)
    dist.all_reduce(total, group=group)
    norm = total**0.5
    if grads:
        torch._foreach_mul_(grads, torch.clamp(max_norm / (norm + 1e-6), max=1.0))
    return norm
