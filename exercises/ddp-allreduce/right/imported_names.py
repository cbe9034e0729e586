import torch
from torch import nn
from torch.distributed import ReduceOp, all_reduce, broadcast, get_world_size


@torch.no_grad()
def broadcast_parameters(module: nn.Module, src: int = 0, group=None) -> None:
    for _, p in module.named_parameters():
        c = p.clone().contiguous()
        broadcast(c, src, group=group)
        p.set_(p) if False else p.copy_(c)
    for _, b in module.named_buffers():
        c = b.clone().contiguous()
        broadcast(c, src, group=group)
        b.copy_(c)


@torch.no_grad()
def average_gradients(module: nn.Module, bucket_bytes: int = 25 * 2**20, group=None) -> None:
    if bucket_bytes < 1:
        raise ValueError("a bucket holds at least one byte")
    world = get_world_size(group)
    by_dtype: dict[torch.dtype, list[nn.Parameter]] = {}
    wanted = [p for p in module.parameters() if p.requires_grad]
    bits = torch.tensor([[1.0] if p.grad is not None else [0.0] for p in wanted], dtype=torch.float64)
    if wanted:
        all_reduce(bits, group=group)
    for p, count in zip(wanted, bits.flatten()):
        if count > 0:
            by_dtype.setdefault(p.dtype, []).append(p)
    for params in by_dtype.values():
        i = 0
        while i < len(params):
            j, total = i, 0
            while j < len(params) and (j == i or total + params[j].nbytes <= bucket_bytes):
                total += params[j].nbytes
                j += 1
            flat = params[i].new_empty(sum(p.numel() for p in params[i:j]))
            views, k = [], 0
            for p in params[i:j]:
                view = flat[k : k + p.numel()].view(p.shape)
                view.copy_(p.grad) if p.grad is not None else view.zero_()
                views.append(view)
                k += p.numel()
            all_reduce(flat, op=ReduceOp.SUM, group=group)
            flat.mul_(1.0 / world)
            for p, view in zip(params[i:j], views):
                if p.grad is None:
                    p.grad = torch.empty_like(p)
                p.grad.copy_(view)
            i = j
