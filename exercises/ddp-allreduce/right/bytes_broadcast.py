from itertools import groupby

import torch
from torch import distributed as dist


def broadcast_parameters(module, src=0, group=None):
    """One message per dtype."""
    tensors = {}
    for t in [*module.parameters(), *module.buffers()]:
        tensors.setdefault(t.dtype, []).append(t.detach())
    for same in tensors.values():
        flat = torch.cat([t.flatten() for t in same])
        dist.broadcast(flat, src=src, group=group)
        offset = 0
        for t in same:
            t.copy_(flat[offset : offset + t.numel()].reshape(t.shape))
            offset += t.numel()


def chunks(params, limit):
    for _, run in groupby(params, key=lambda p: p.dtype):
        chunk = []
        for p in run:
            if chunk and sum(q.numel() * q.element_size() for q in [*chunk, p]) > limit:
                yield chunk
                chunk = []
            chunk.append(p)
        yield chunk


def average_gradients(module, bucket_bytes=25 * 2**20, group=None):
    if not bucket_bytes >= 1:
        raise ValueError("bucket_bytes")
    params = [p for p in module.parameters() if p.requires_grad]
    exists = torch.zeros(len(params), dtype=torch.uint8)
    for i, p in enumerate(params):
        exists[i] = p.grad is not None
    dist.all_reduce(exists, dist.ReduceOp.MAX, group)
    travelling = [p for i, p in enumerate(params) if exists[i].item()]
    for chunk in chunks(travelling, bucket_bytes):
        parts = [
            torch.zeros_like(p).flatten() if p.grad is None else p.grad.detach().flatten() for p in chunk
        ]
        bucket = torch.hstack(parts)
        dist.all_reduce(bucket, group=group)
        bucket = bucket / dist.get_world_size(group)
        for p, piece in zip(chunk, torch.split(bucket, [x.numel() for x in parts])):
            if p.grad is None:
                p.grad = piece.reshape(p.shape).clone()
            else:
                p.grad.data[...] = piece.reshape(p.shape)
