from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn


class _Parallel(nn.Module):
    """Common parts; the slice is cut along one dimension."""

    split_dim: int
    bias: nn.Parameter | None

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None, *, name: str = "") -> None:
        super().__init__()
        self.group = group if group is not None else dist.group.WORLD
        self.t, self.rank = self.group.size(), self.group.rank()
        size = full.weight.size(self.split_dim)
        if size % self.t:
            raise ValueError(f"{type(self).__name__}: {size} features over {self.t} ranks")
        part = size // self.t
        source = full.weight.data.narrow(self.split_dim, self.rank * part, part)
        with torch.no_grad():
            self.weight = nn.Parameter(
                torch.empty(source.shape, dtype=source.dtype, device=source.device).copy_(source)
            )
        if full.bias is None:
            self.register_parameter("bias", None)
        else:
            bias = full.bias.data if self.split_dim else full.bias.data.narrow(0, self.rank * part, part)
            self.bias = nn.Parameter(torch.empty_like(bias).copy_(bias))

    def _sum(self, tensor: Tensor) -> Tensor:
        out = tensor.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(out, op=dist.ReduceOp.SUM, group=self.group)
        return out

    def extra_repr(self) -> str:
        return f"rank {self.rank} of {self.t}, weight {tuple(self.weight.shape)}"


class ColumnParallelLinear(_Parallel):
    split_dim = 0

    def forward(self, x: Tensor) -> Tensor:
        if x.requires_grad and torch.is_grad_enabled():
            x = x.view_as(x)
            x.register_hook(self._sum)
        out = x @ self.weight.t()
        return out if self.bias is None else out + self.bias


class _SumForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part: Tensor, layer: _Parallel) -> Tensor:
        return layer._sum(part)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return grad, None


class RowParallelLinear(_Parallel):
    split_dim = 1

    def forward(self, x: Tensor) -> Tensor:
        out = _SumForward.apply(x @ self.weight.t(), self)
        return out if self.bias is None else out + self.bias
