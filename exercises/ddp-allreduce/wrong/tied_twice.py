# fails: 8
# message: send it once
import torch
import torch.distributed as dist


def broadcast_parameters(module, src=0, group=None):
    with torch.no_grad():
        for t in list(module.parameters()) + list(module.buffers()):
            copy = t.detach().clone(memory_format=torch.contiguous_format)
            dist.broadcast(copy, src=src, group=group)
            t.data.copy_(copy)


def average_gradients(module, bucket_bytes=25 * 2**20, group=None):
    if bucket_bytes < 1:
        raise ValueError("bucket_bytes must be at least 1")
    n = dist.get_world_size(group)
    if n == 1:
        return
    params = [p for _, p in module.named_parameters(remove_duplicate=False) if p.requires_grad]
    if not params:
        return
    flags = torch.tensor([0.0 if p.grad is None else 1.0 for p in params], device=params[0].device)
    dist.all_reduce(flags, group=group)
    params = [p for p, f in zip(params, flags.tolist()) if f > 0]
    bucket = []
    size = 0

    def flush():
        if not bucket:
            return
        flat = torch.cat(
            [(p.grad if p.grad is not None else torch.zeros_like(p)).reshape(-1) for p in bucket]
        )
        dist.all_reduce(flat, group=group)
        flat /= n
        start = 0
        for p in bucket:
            piece = flat[start : start + p.numel()].view(p.shape)
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            p.grad.copy_(piece)
            start += p.numel()
        bucket.clear()

    with torch.no_grad():
        for p in params:
            b = p.numel() * p.element_size()
            if bucket and (size + b > bucket_bytes or p.dtype != bucket[0].dtype):
                flush()
                size = 0
            bucket.append(p)
            size += b
        flush()
