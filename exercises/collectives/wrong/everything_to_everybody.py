# fails: 3
# message: each link carries one piece per step
"""Every rank sends its tensor to every other rank directly."""

import torch
import torch.distributed as dist


def all_gather(x, group=None):
    if x.dim() == 0:
        raise ValueError
    p, r = dist.get_world_size(group), dist.get_rank(group)
    pieces = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(p)]
    pieces[r] = x.clone(memory_format=torch.contiguous_format)
    requests = []
    for other in range(p):
        if other != r:
            requests.append(dist.isend(pieces[r], group=group, group_dst=other))
            requests.append(dist.irecv(pieces[other], group=group, group_src=other))
    for request in requests:
        request.wait()
    return torch.cat(pieces)


def reduce_scatter(x, group=None):
    p, r = dist.get_world_size(group), dist.get_rank(group)
    if x.dim() == 0 or x.shape[0] % p:
        raise ValueError
    whole = all_gather(x[None], group).sum(0).to(x.dtype)
    return whole.chunk(p)[r].clone()


def all_reduce(x, group=None):
    return all_gather(x[None], group).sum(0).to(x.dtype)


def sharded_matmul(x, weight, group=None, scatter=False):
    if weight.dim() != 2 or x.shape[-1] != weight.shape[0]:
        raise ValueError
    y = x @ weight
    return reduce_scatter(y, group) if scatter else all_reduce(y, group)
