from collections.abc import Iterable

import torch
import torch.distributed
from torch import nn
from torch.distributed import (
    ReduceOp,
    all_reduce,
    broadcast,
    get_process_group_ranks,
    get_rank,
    get_world_size,
)


def partition(numels, world_size):
    if world_size < 1:
        raise ValueError("world_size must be positive")
    loads = torch.zeros(world_size, dtype=torch.long)
    out = [[] for _ in range(world_size)]
    for index, n in sorted(enumerate(numels), key=lambda pair: pair[1], reverse=True):
        if n < 0:
            raise ValueError("negative numel")
        r = int(loads.argmin())
        loads[r] += n
        out[r].append(index)
    for part in out:
        part.sort()
    return out


class Base:
    def zero_grad(self) -> None:
        for p in self.everything:
            p.grad = None


class ShardedOptimizer(Base):
    def __init__(self, params: Iterable[nn.Parameter], optimizer_class, *, group: object = None, **kwargs):
        self.everything = list(params)
        if self.everything == []:
            raise ValueError("empty")
        self.pg = group or torch.distributed.group.WORLD
        self.ranks = get_process_group_ranks(self.pg)
        parts = partition([p.numel() for p in self.everything], len(self.ranks))
        self.source = [0] * len(self.everything)
        for rank, part in zip(self.ranks, parts):
            for i in part:
                self.source[i] = rank
        own = [p for p, rank in zip(self.everything, self.source) if rank == get_rank()]
        self.inner = None
        if own:
            self.inner = optimizer_class(own, **kwargs)

    def step(self) -> None:
        todo = [(p, s) for p, s in zip(self.everything, self.source) if p.grad is not None]
        works = [all_reduce(p.grad, op=ReduceOp.SUM, group=self.pg, async_op=True) for p, _ in todo]
        for (p, _), work in zip(todo, works):
            work.wait()
            p.grad.div_(get_world_size(self.pg))
        if self.inner:
            self.inner.step()
        works = [broadcast(p.detach(), s, group=self.pg, async_op=True) for p, s in todo]
        for work in works:
            work.wait()

    def state_bytes(self) -> int:
        states = self.inner.state.values() if self.inner else []
        return sum(t.numel() * t.element_size() for s in states for t in s.values() if torch.is_tensor(t))
