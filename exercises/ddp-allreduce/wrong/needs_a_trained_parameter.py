# fails: 9
# message: all frozen is valid
import torch
import torch.distributed as dist


def broadcast_parameters(module, src=0, group=None):
    for tensor in [*module.parameters(), *module.buffers()]:
        data = tensor.detach()
        if data.is_contiguous():
            dist.broadcast(data, src=src, group=group)
        else:
            copy = data.contiguous()
            dist.broadcast(copy, src=src, group=group)
            data.copy_(copy)


def buckets_of(params, bucket_bytes):
    by_dtype = {}
    for p in params:
        by_dtype.setdefault(p.dtype, []).append(p)
    for same in by_dtype.values():
        bucket, size = [], 0
        for p in same:
            n = p.numel() * p.element_size()
            if bucket and size + n > bucket_bytes:
                yield bucket
                bucket, size = [], 0
            bucket.append(p)
            size += n
        if bucket:
            yield bucket


def average_gradients(module, bucket_bytes=25 * 2**20, group=None):
    if bucket_bytes < 1:
        raise ValueError("bucket_bytes must be at least 1")
    world = dist.get_world_size(group)
    if world == 1:
        return
    params = [p for p in module.parameters() if p.requires_grad]
    have = torch.tensor([p.grad is not None for p in params], dtype=torch.int32, device=params[0].device)
    dist.all_reduce(have, op=dist.ReduceOp.MAX, group=group)
    used = [p for p, h in zip(params, have.tolist()) if h]
    for p in used:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    for bucket in buckets_of(used, bucket_bytes):
        flat = torch.cat([p.grad.reshape(-1) for p in bucket])
        dist.all_reduce(flat, group=group)
        flat /= world
        start = 0
        for p in bucket:
            p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
            start += p.numel()
