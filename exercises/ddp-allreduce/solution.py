"""Data parallelism by hand: broadcast at the start, bucketed averages of the gradients afterwards.

Invariant: every rank makes the same calls with the same sizes. The order comes from ``module.parameters()`` and
the decision which gradients travel from one shared bit per parameter, never from the local gradients. What
is reduced: the bytes of the gradients, in about bytes / bucket_bytes messages, and one flag per parameter.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn


@torch.no_grad()
def broadcast_parameters(module: nn.Module, src: int = 0, group: dist.ProcessGroup | None = None) -> None:
    """Copy rank ``src``'s parameters and buffers into those of every rank of the group."""
    for tensor in [*module.parameters(), *module.buffers()]:
        message = tensor.detach().clone(memory_format=torch.contiguous_format)
        dist.broadcast(message, src=src, group=group)
        tensor.copy_(message)


@torch.no_grad()
def average_gradients(
    module: nn.Module, bucket_bytes: int = 25 * 2**20, group: dist.ProcessGroup | None = None
) -> None:
    """Replace every gradient by its mean over the ranks of the group."""
    if bucket_bytes < 1:
        raise ValueError("bucket_bytes must be at least 1")
    params = [p for p in module.parameters() if p.requires_grad]
    if not params:
        return
    has_grad = torch.tensor([p.grad is not None for p in params], dtype=torch.int32, device=params[0].device)
    dist.all_reduce(has_grad, op=dist.ReduceOp.MAX, group=group)
    params = [p for p, used in zip(params, has_grad.tolist(), strict=True) if used]
    for p in params:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    for bucket in make_buckets(params, bucket_bytes):
        reduce_bucket([p.grad for p in bucket], group)


def make_buckets(params: list[nn.Parameter], limit: int) -> list[list[nn.Parameter]]:
    """Whole parameters of one dtype in a row, at most ``limit`` bytes or a single one."""
    buckets: list[list[nn.Parameter]] = []
    size = 0
    for p in params:
        nbytes = p.numel() * p.element_size()
        if buckets and buckets[-1][0].dtype == p.dtype and size + nbytes <= limit:
            buckets[-1].append(p)
            size += nbytes
        else:
            buckets.append([p])
            size = nbytes
    return buckets


def reduce_bucket(grads: list[Tensor], group: dist.ProcessGroup | None) -> None:
    """Average the gradients of one bucket in place."""
    flat = torch.cat([grad.reshape(-1) for grad in grads])
    dist.all_reduce(flat, group=group)
    flat /= dist.get_world_size(group)
    for grad, piece in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
        grad.copy_(piece.view(grad.shape))
