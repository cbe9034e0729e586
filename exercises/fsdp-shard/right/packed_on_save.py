"""Plain F.linear: hooks on what autograd saves put the gathered weight away and fetch it again."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shard, layer):
        ctx.layer = layer
        return layer._gather(shard)

    @staticmethod
    def backward(ctx, grad):
        layer = ctx.layer
        mine = grad.new_empty(grad.numel() // layer._p)
        work = dist.reduce_scatter_tensor(mine, grad.contiguous(), group=layer._group, async_op=True)
        work.wait()
        return mine / layer._p, None


class ShardedLinear(nn.Module):
    def __init__(self, full: nn.Linear, group=None):
        super().__init__()
        if not isinstance(full, nn.Linear):
            raise TypeError("not linear")
        self._group, self._p = group, dist.get_world_size(group)
        self._shape, self._biased = tuple(full.weight.shape), full.bias is not None
        flat = full.weight.detach().reshape(-1)
        if self._biased:
            flat = torch.hstack([flat, full.bias.detach()])
        extra = (self._p - flat.numel() % self._p) % self._p
        flat = torch.hstack([flat, flat.new_zeros(extra)])
        self.shard = nn.Parameter(flat.chunk(self._p)[dist.get_rank(group)].clone())

    def _gather(self, shard):
        out = torch.empty(self._p * shard.numel(), dtype=shard.dtype, device=shard.device)
        dist.all_gather_into_tensor(out, shard.detach(), group=self._group, async_op=True).wait()
        return out

    def _views(self, flat):
        n = self._shape[0] * self._shape[1]
        return flat[:n].view(self._shape), flat[n : n + self._shape[0]] if self._biased else None

    def forward(self, x):
        flat = _Gather.apply(self.shard, self)
        place = flat.untyped_storage().data_ptr()

        def pack(t):
            if t.untyped_storage().data_ptr() == place:
                return t.shape, t.stride(), t.storage_offset()
            return t

        def unpack(kept):
            if isinstance(kept, torch.Tensor):
                return kept
            return self._gather(self.shard).as_strided(*kept)

        with saved_tensors_hooks(pack, unpack):
            return F.linear(x, *self._views(flat))

    def full_parameters(self):
        return self._views(self._gather(self.shard))


def clip_grad_norm_(model, max_norm, group=None):
    if max_norm <= 0:
        raise ValueError(max_norm)
    found = [m.shard for m in model.modules() if isinstance(m, ShardedLinear)]
    total = torch.tensor(0.0, dtype=torch.float64, device=found[0].device)
    for shard in found:
        if shard.grad is not None:
            total += (shard.grad.double() ** 2).sum()
    dist.all_reduce(total, group=group)
    total = torch.sqrt(total)
    for shard in found:
        if shard.grad is not None:
            shard.grad.copy_(shard.grad * min(1.0, max_norm / (float(total) + 1e-6)))
    return total
