import torch
import torch.distributed as dist
from torch import Tensor


def partition(numels, world_size):
    """Greedy in the given order: the bound on the loads holds all the same."""
    if world_size <= 0:
        raise ValueError("world_size")
    if [n for n in numels if n < 0]:
        raise ValueError("numel")
    result = [[] for _ in range(world_size)]
    for i in range(len(numels)):
        lightest = min(range(world_size), key=lambda r: sum(numels[j] for j in result[r]))
        result[lightest].append(i)
    return result


class ShardedOptimizer:
    """One flat all-reduce of the gradients, one all-gather of padded flat shards."""

    def __init__(self, params, optimizer_class, *, group=None, **kwargs):
        self._params = tuple(params)
        if not self._params:
            raise ValueError("ShardedOptimizer needs parameters")
        self._group = group
        self._size = dist.get_world_size(group)
        self._shards = partition([p.numel() for p in self._params], self._size)
        self._local = [self._params[i] for i in self._shards[dist.get_rank(group)]]
        if self._local:
            self._optimizer = optimizer_class([{"params": self._local}], **kwargs)

    def step(self):
        used = [p for p in self._params if p.grad is not None]
        if used:
            flat = torch.cat([p.grad.reshape(-1) for p in used])
            dist.all_reduce(flat, group=self._group)
            flat = flat / self._size
            for p, g in zip(used, flat.split([p.numel() for p in used])):
                p.grad = g.view_as(p)
        if self._local:
            self._optimizer.step()
        self._collect()

    def _collect(self):
        longest = max(sum(self._params[i].numel() for i in shard) for shard in self._shards)
        mine = self._params[0].new_zeros(longest)
        at = 0
        for p in self._local:
            mine[at : at + p.numel()] = p.detach().flatten()
            at += p.numel()
        shards = [torch.empty_like(mine) for _ in range(self._size)]
        dist.all_gather(shards, mine, group=self._group)
        for shard, flat in zip(self._shards, shards):
            at = 0
            for i in shard:
                p = self._params[i]
                p.data.copy_(flat[at : at + p.numel()].view(p.shape))
                at += p.numel()

    def zero_grad(self):
        for p in self._params:
            p.grad = None

    def state_bytes(self):
        if not self._local:
            return 0
        return sum(
            v.untyped_storage().nbytes()
            for s in self._optimizer.state_dict()["state"].values()
            for v in s.values()
            if isinstance(v, Tensor)
        )
