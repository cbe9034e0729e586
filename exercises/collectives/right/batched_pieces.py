"""Lists of pieces and batch_isend_irecv; the all-reduce cuts unevenly and pads nothing."""

import torch
import torch.distributed as dist


def _shift(piece, like, group):
    p, r = dist.get_world_size(group), dist.get_rank(group)
    to = dist.get_global_rank(group or dist.group.WORLD, (r + 1) % p)
    back = dist.get_global_rank(group or dist.group.WORLD, (r + p - 1) % p)
    got = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    ops = [
        dist.P2POp(dist.irecv, got, back, group),
        dist.P2POp(dist.isend, piece.contiguous(), to, group),
    ]
    for request in dist.batch_isend_irecv(ops):
        request.wait()
    return got


def _ring_gather(pieces, group):
    """pieces: one per place, of which only this rank's holds values."""
    p, r = dist.get_world_size(group), dist.get_rank(group)
    for s in range(p - 1):
        source = (r - 1 - s) % p
        pieces[source] = _shift(pieces[(r - s) % p], pieces[source], group)
    return pieces


def _ring_reduce(pieces, group):
    p, r = dist.get_world_size(group), dist.get_rank(group)
    pieces = list(pieces)
    for s in range(p - 1):
        i = (r - 2 - s) % p
        pieces[i] = pieces[i] + _shift(pieces[(r - 1 - s) % p], pieces[i], group)
    return pieces[r]


def all_gather(x, group=None):
    if x.ndim < 1:
        raise ValueError("0-dimensional")
    return torch.cat(_ring_gather([x.clone() for _ in range(dist.get_world_size(group))], group))


def reduce_scatter(x, group=None):
    p = dist.get_world_size(group)
    if x.ndim < 1 or x.size(0) % p != 0:
        raise ValueError("dimension 0 does not divide")
    return _ring_reduce(x.clone().contiguous().chunk(p) if x.size(0) else [x.clone()] * p, group).clone()


def all_reduce(x, group=None):
    p, r = dist.get_world_size(group), dist.get_rank(group)
    pieces = list(x.contiguous().clone().view(-1).tensor_split(p))
    pieces[r] = _ring_reduce(pieces, group)
    return torch.cat(_ring_gather(pieces, group)).view(x.shape)


def sharded_matmul(x, weight, group=None, scatter=False):
    if weight.ndim != 2 or weight.size(0) != x.size(-1):
        raise ValueError("weight does not fit")
    y = torch.einsum("...k,kn->...n", x, weight)
    if scatter:
        return reduce_scatter(y, group)
    return all_reduce(y, group)
