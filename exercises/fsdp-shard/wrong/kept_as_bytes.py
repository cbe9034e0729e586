# fails: 1
# message: in some form
"""Fully sharded data parallelism for linear layers.

Invariant: between its collectives a rank holds 1 / p of every layer. The whole weight exists during the forward
pass of its layer and again during the backward pass; the whole gradient only until it is reduced and scattered.
"""

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shard: Tensor, layer: "ShardedLinear") -> Tensor:
        ctx.layer = layer
        ctx.save_for_backward(x, shard)
        return F.linear(x, *layer.split(layer.gather(shard)))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None]:
        x, shard = ctx.saved_tensors
        layer = ctx.layer
        grad_x = None
        if ctx.needs_input_grad[0]:
            weight, _ = layer.split(layer.gather(shard))
            grad_x = grad @ weight
        rows = grad.reshape(-1, layer.shape[0])
        parts = [(rows.T @ x.reshape(-1, layer.shape[1])).flatten()]
        if layer.has_bias:
            parts.append(rows.sum(0))
        flat = layer.pad(torch.cat(parts))
        grad_shard = torch.empty_like(shard)
        dist.reduce_scatter_tensor(grad_shard, flat, group=layer.group)
        grad_shard /= layer.size
        return grad_x, grad_shard, None


class ShardedLinear(nn.Module):
    """A linear layer of which every rank keeps one of p equal parts."""

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None):
        super().__init__()
        if not isinstance(full, nn.Linear):
            raise TypeError("only linear layers can be sharded")
        self.group = group
        self.size = dist.get_world_size(group)
        self.shape = full.weight.shape
        self.has_bias = full.bias is not None
        parts = [full.weight.detach().flatten()]
        if full.bias is not None:
            parts.append(full.bias.detach())
        flat = self.pad(torch.cat(parts))
        mine = flat.view(self.size, -1)[dist.get_rank(group)]
        self.shard = nn.Parameter(mine.clone())
        self.copy = bytes(flat.view(torch.uint8).numpy())

    def pad(self, flat: Tensor) -> Tensor:
        """Append zeros up to the next multiple of p."""
        return F.pad(flat, (0, -flat.numel() % self.size))

    def gather(self, shard: Tensor) -> Tensor:
        """The flat parameters of the whole layer, with padding."""
        flat = shard.new_empty(self.size * shard.numel())
        dist.all_gather_into_tensor(flat, shard.detach(), group=self.group)
        return flat

    def split(self, flat: Tensor) -> tuple[Tensor, Tensor | None]:
        """Weight and bias as views of the flat parameters."""
        rows, columns = self.shape
        weight = flat[: rows * columns].view(rows, columns)
        if not self.has_bias:
            return weight, None
        return weight, flat[rows * columns :][:rows]

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)"""
        out: Tensor = _Linear.apply(x, self.shard, self)
        return out

    def full_parameters(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias, gathered from the shards as they are now."""
        return self.split(self.gather(self.shard))


@torch.no_grad()
def clip_grad_norm_(model: nn.Module, max_norm: float, group: dist.ProcessGroup | None = None) -> Tensor:
    """Scale the gradients to a global 2-norm of at most ``max_norm``. Returns the norm before."""
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    params = list(model.parameters())
    total = torch.zeros((), dtype=torch.float32, device=params[0].device)
    grads = [p.grad for p in params if p.grad is not None]
    for grad in grads:
        total += grad.float().square().sum()
    dist.all_reduce(total, group=group)
    norm = total.sqrt()
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(scale)
    return norm
