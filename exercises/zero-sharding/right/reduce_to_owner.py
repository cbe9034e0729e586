import heapq

import torch
import torch.distributed as dist


def partition(numels, world_size):
    if world_size < 1 or min(numels, default=0) < 0:
        raise ValueError("bad sizes")
    heap = [(0, r) for r in range(world_size)]
    owner = [0] * len(numels)
    for n, i in sorted(((n, i) for i, n in enumerate(numels)), reverse=True):
        load, r = heapq.heappop(heap)
        owner[i] = r
        heapq.heappush(heap, (load + n, r))
    return [[i for i, o in enumerate(owner) if o == r] for r in range(world_size)]


class ShardedOptimizer:
    """Reduce to the owner only, optimizer made lazily."""

    def __init__(self, params, optimizer_class, *, group=None, **kwargs):
        self.params = [*params]
        if len(self.params) == 0:
            raise ValueError("no parameters")
        self.group = group if group is not None else dist.group.WORLD
        self._make = lambda ps: optimizer_class(ps, **kwargs)
        self._opt = None
        n = dist.get_world_size(self.group)
        self.lists = partition(tuple(p.numel() for p in self.params), n)

    def _owners(self):
        for place, indices in enumerate(self.lists):
            rank = dist.get_global_rank(self.group, place)
            for i in indices:
                yield rank, self.params[i]

    def step(self):
        me = dist.get_rank()
        n = dist.get_world_size(self.group)
        active = [(r, p) for r, p in self._owners() if p.grad is not None]
        for r, p in active:
            message = p.grad.detach().clone().div_(n)
            dist.reduce(message, dst=r, group=self.group)
            if r == me:
                p.grad.copy_(message)
            else:
                p.grad = None
        mine = [p for r, p in self._owners() if r == me]
        if mine:
            if self._opt is None:
                self._opt = self._make(mine)
            self._opt.step()
        for r, p in active:
            with torch.no_grad():
                dist.broadcast(p, src=r, group=self.group)

    def zero_grad(self):
        for _, p in self._owners():
            p.grad = None

    def state_bytes(self):
        total = 0
        if self._opt is not None:
            for s in self._opt.state.values():
                for v in s.values():
                    if torch.is_tensor(v):
                        total += v.nbytes
        return total
