# fails: 6
# message: must not depend on the local gradient
"""Asynchronous: all buckets are on their way before the first one is waited for."""

import itertools

import torch
import torch.distributed as dist


def broadcast_parameters(module, src=0, group=None):
    for t in itertools.chain(module.parameters(), module.buffers()):
        data = t.data
        if data.is_contiguous():
            dist.broadcast(data, src=src, group=group)
        else:
            packed = data.contiguous()
            dist.broadcast(packed, src=src, group=group)
            data.copy_(packed)


def _buckets(params, limit):
    bucket, used = [], 0
    for p in params:
        size = p.numel() * p.element_size()
        if bucket and (used + size > limit or bucket[0].dtype is not p.dtype):
            yield bucket
            bucket, used = [], 0
        bucket.append(p)
        used += size
    if bucket:
        yield bucket


def average_gradients(module, bucket_bytes=25 * 2**20, group=None):
    if bucket_bytes < 1:
        raise ValueError(bucket_bytes)
    params = [p for p in module.parameters() if p.requires_grad]
    n = dist.get_world_size(group)
    if n == 1 or not params:
        return
    if all(p.grad is not None for p in params):
        mine = torch.ones(len(params))
    else:
        mine = torch.tensor([float(p.grad is not None) for p in params], device=params[0].device)
        dist.all_reduce(mine, group=group)
    params = [p for p, count in zip(params, mine) if count > 0]
    sent = []
    for bucket in _buckets(params, bucket_bytes):
        flat = torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype, device=bucket[0].device)
        at = 0
        for p in bucket:
            if p.grad is not None:
                flat[at : at + p.numel()].view(p.shape).copy_(p.grad)
            at += p.numel()
        sent.append((bucket, flat, dist.all_reduce(flat, group=group, async_op=True)))
    for bucket, flat, work in sent:
        work.wait()
        flat.div_(n)
        at = 0
        for p in bucket:
            piece = flat[at : at + p.numel()].view(p.shape)
            at += p.numel()
            if p.grad is None:
                p.grad = piece
            else:
                p.grad.copy_(piece)
