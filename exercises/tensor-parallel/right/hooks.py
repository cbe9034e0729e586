import torch
import torch.distributed as dist
from torch import nn


class _Sharded(nn.Module):
    def __init__(self, full, group, dim):
        super().__init__()
        self.group = group or dist.group.WORLD
        t, r = dist.get_world_size(self.group), dist.get_rank(self.group)
        if full.weight.shape[dim] % t != 0:
            raise ValueError("the split dimension must be divisible")
        piece = torch.tensor_split(full.weight.data, t, dim=dim)[r]
        self.weight = nn.Parameter(torch.empty_like(piece, memory_format=torch.contiguous_format))
        self.weight.data.copy_(piece)
        if full.bias is None:
            self.register_parameter("bias", None)
        else:
            self.bias = nn.Parameter((full.bias.data.chunk(t)[r] if dim == 0 else full.bias.data).clone())


class ColumnParallelLinear(_Sharded):
    """A tensor hook sums the input gradient."""

    def __init__(self, full, group=None):
        super().__init__(full, group, 0)

    def _sum(self, grad):
        total = grad.clone().contiguous()
        dist.all_reduce(total, group=self.group)
        return total

    def forward(self, x):
        if torch.is_grad_enabled() and x.requires_grad:
            x = x.view(x.shape)
            x.register_hook(self._sum)
        y = x @ self.weight.T
        if self.bias is not None:
            y = y + self.bias
        return y


class RowParallelLinear(_Sharded):
    """The sum is added as a constant: the gradient passes through the local part."""

    def __init__(self, full, group=None):
        super().__init__(full, group, 1)

    def forward(self, x):
        local = torch.matmul(x, self.weight.T)
        total = local.detach().clone().contiguous()
        dist.all_reduce(total, op=dist.ReduceOp.SUM, group=self.group)
        y = local + (total - local.detach())
        return y if self.bias is None else y + self.bias
