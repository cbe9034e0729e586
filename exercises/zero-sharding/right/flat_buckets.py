from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_leaves

log = logging.getLogger(__name__)


def partition(numels: Sequence[int], world_size: int, *, stable: bool = True) -> list[list[int]]:
    if world_size < 1:
        raise ValueError(f"world_size={world_size}")
    if numels and min(numels) < 0:
        raise ValueError("numels must not be negative")
    heap = [(0, r) for r in range(world_size)]
    shards: list[list[int]] = [[] for _ in range(world_size)]
    for n, i in sorted(((n, i) for i, n in enumerate(numels)), key=lambda t: (-t[0], t[1])):
        load, r = heapq.heappop(heap)
        shards[r].append(i)
        heapq.heappush(heap, (load + n, r))
    for shard in shards:
        shard.sort()
    return shards


class ShardedOptimizer:
    __slots__ = ("_params", "_group", "_shards", "_local", "__weakref__")

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        optimizer_class: type[Optimizer],
        *,
        group: dist.ProcessGroup | None = None,
        **kwargs: Any,
    ) -> None:
        self._params = tuple(params)
        if not self._params:
            raise ValueError("ShardedOptimizer needs parameters")
        self._group = dist.group.WORLD if group is None else group
        self._shards = [
            [self._params[i] for i in part]
            for part in partition([p.numel() for p in self._params], self._group.size())
        ]
        own = self._shards[self._group.rank()]
        self._local = optimizer_class(own, **kwargs) if own else None
        log.debug("rank %d owns %d tensors", self._group.rank(), len(own))

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [] if self._local is None else self._local.param_groups

    @staticmethod
    def _flat(tensors: list[Tensor]) -> Tensor:
        return torch.cat([t.reshape(-1) for t in tensors])

    def _buckets(self):
        """(owner, parameters of one dtype with a gradient), in the same order on every rank."""
        for r, shard in enumerate(self._shards):
            kinds: dict[torch.dtype, list[nn.Parameter]] = {}
            for p in shard:
                if p.grad is not None:
                    kinds.setdefault(p.dtype, []).append(p)
            for bucket in kinds.values():
                yield r, bucket

    @torch.no_grad()
    def step(self) -> None:
        me, size = self._group.rank(), self._group.size()
        buckets = list(self._buckets())
        for owner, bucket in buckets:
            flat = self._flat([p.grad for p in bucket])
            flat.div_(size)
            dist.reduce(flat, dst=dist.get_global_rank(self._group, owner), group=self._group)
            if owner == me:
                for p, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                    p.grad.copy_(part.view_as(p))
        if self._local is not None:
            self._local.step()
        for owner, bucket in buckets:
            flat = self._flat([p.detach() for p in bucket])
            dist.broadcast(flat, src=dist.get_global_rank(self._group, owner), group=self._group)
            if owner != me:
                for p, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                    p.copy_(part.view_as(p))

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in self._params:
            p.grad = None

    def state_bytes(self) -> int:
        if self._local is None:
            return 0
        return sum(
            t.nbytes for s in self._local.state.values() for t in tree_leaves(s) if isinstance(t, Tensor)
        )
