"""Blocking sends: even places send first, odd ones receive first. Sums in float32 or wider."""

import torch
import torch.distributed as dist


class Ring:
    def __init__(self, group):
        self.group = group
        self.p = dist.get_world_size(group)
        self.r = dist.get_rank(group)

    def turn(self, out, into):
        right, left = (self.r + 1) % self.p, (self.r - 1) % self.p
        if self.r % 2 == 0:
            dist.send(out, group=self.group, group_dst=right)
            dist.recv(into, group=self.group, group_src=left)
        else:
            dist.recv(into, group=self.group, group_src=left)
            dist.send(out, group=self.group, group_dst=right)
        return into


def all_gather(x, group=None):
    if not x.shape:
        raise ValueError("x has no dimension")
    ring = Ring(group)
    m = x.shape[0]
    out = torch.zeros(ring.p * m, *x.shape[1:], dtype=x.dtype, device=x.device)
    out[ring.r * m : (ring.r + 1) * m].copy_(x)
    travelling = x.contiguous()
    for step in range(1, ring.p):
        travelling = ring.turn(travelling, torch.empty(x.shape, dtype=x.dtype, device=x.device))
        owner = (ring.r - step) % ring.p
        out[owner * m : (owner + 1) * m] = travelling
    return out


def reduce_scatter(x, group=None):
    ring = Ring(group)
    if not x.shape or x.shape[0] % ring.p:
        raise ValueError(f"{tuple(x.shape)} over {ring.p} ranks")
    width = x.shape[0] // ring.p
    sums = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    total = None
    for step in range(ring.p):
        owner = (ring.r - 1 - step) % ring.p
        own = sums[owner * width : (owner + 1) * width]
        if total is None:
            total = own.clone(memory_format=torch.contiguous_format)
        else:
            total = ring.turn(total, torch.empty_like(total)).add_(own)
    return total.to(x.dtype)


def all_reduce(x, group=None):
    p = dist.get_world_size(group)
    flat = x.flatten()
    rest = -flat.numel() % p
    if rest:
        flat = torch.cat([flat, torch.zeros(rest, dtype=x.dtype, device=x.device)])
    out = all_gather(reduce_scatter(flat, group), group)
    return torch.narrow(out, 0, 0, x.numel()).reshape(x.shape).clone()


def sharded_matmul(x, weight, group=None, scatter=False):
    if weight.dim() != 2:
        raise ValueError("weight must be a matrix")
    if x.shape[-1:] != weight.shape[:1]:
        raise ValueError("x and weight do not fit")
    partial = torch.matmul(x, weight)
    return (reduce_scatter if scatter else all_reduce)(partial, group)
