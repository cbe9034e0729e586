"""One padded buffer per call, both phases of the all-reduce in place, receives posted first."""

from functools import partial

import torch
from torch import distributed as dist


def neighbors(group):
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    members = list(range(size)) if group is None else dist.get_process_group_ranks(group)
    return size, rank, members[(rank + 1) % size], members[rank - 1]


def swap(buffer, i, j, group, spare=None):
    """Send row i to the right; receive into row j, or into spare."""
    _, _, right, left = neighbors(group)
    target = buffer[j] if spare is None else spare
    inbound = dist.irecv(target, left, group)
    outbound = dist.isend(buffer[i], dst=right, group=group)
    outbound.wait()
    inbound.wait()


def reduce_phase(buffer, group):
    size, rank, _, _ = neighbors(group)
    spare = torch.empty_like(buffer[0])
    for k in range(1, size):
        j = (rank - k - 1) % size
        swap(buffer, (rank - k) % size, j, group, spare)
        buffer[j] += spare


def gather_phase(buffer, group):
    size, rank, _, _ = neighbors(group)
    for k in range(size - 1):
        swap(buffer, (rank - k) % size, (rank - k - 1) % size, group)


def all_gather(x, group=None):
    if x.dim() == 0:
        raise ValueError
    size, rank, _, _ = neighbors(group)
    buffer = x.unsqueeze(0).repeat(size, *[1] * x.dim())
    gather_phase(buffer, group)
    return buffer.reshape(-1, *x.shape[1:])


def reduce_scatter(x, group=None):
    size, rank, _, _ = neighbors(group)
    if x.dim() == 0 or x.size(0) % size:
        raise ValueError
    buffer = torch.stack(x.tensor_split(size))
    reduce_phase(buffer, group)
    return buffer[rank].clone()


def all_reduce(x, group=None):
    size, _, _, _ = neighbors(group)
    width = (x.numel() + size - 1) // size
    buffer = torch.zeros(size, width, dtype=x.dtype, device=x.device)
    buffer.view(-1)[: x.numel()] = x.flatten()
    reduce_phase(buffer, group)
    gather_phase(buffer, group)
    return buffer.view(-1)[: x.numel()].view(x.shape)


def sharded_matmul(x, weight, group=None, scatter=False):
    if weight.dim() != 2 or x.dim() == 0 or x.size(-1) != weight.size(0):
        raise ValueError
    finish = partial(reduce_scatter if scatter else all_reduce, group=group)
    return finish(x.matmul(weight))
