# fails: 5
# message: from the start
import torch
import torch.distributed as dist


def partition(numels, world_size):
    if world_size < 1:
        raise ValueError("world_size")
    if any(n < 0 for n in numels):
        raise ValueError("negative numel")
    owned, loads = [[] for _ in range(world_size)], [0] * world_size
    for i in sorted(range(len(numels)), key=lambda i: (-numels[i], i)):
        r = min(range(world_size), key=lambda r: (loads[r], r))
        owned[r].append(i)
        loads[r] += numels[i]
    return [sorted(o) for o in owned]


class ShardedOptimizer:
    def __init__(self, params, optimizer_class, *, group=None, **kwargs):
        self.params = list(params)
        if not self.params:
            raise ValueError("no parameters")
        self.group = group
        self.world = dist.get_world_size(group)
        self.rank = dist.get_rank(group)
        self.parts = partition([p.numel() for p in self.params], self.world)
        self.owner = {i: r for r, part in enumerate(self.parts) for i in part}
        mine = [self.params[i] for i in self.parts[self.rank]]
        self.optim = optimizer_class(self.params, **kwargs)
        self.optim.param_groups[0]["params"] = mine

    def _global(self, r):
        return r if self.group is None else dist.get_global_rank(self.group, r)

    @torch.no_grad()
    def step(self):
        for p in self.params:
            if p.grad is not None:
                g = p.grad.contiguous()
                dist.all_reduce(g, group=self.group)
                g /= self.world
                p.grad = g
        if self.optim is not None:
            self.optim.step()
        for i, p in enumerate(self.params):
            if p.grad is not None:
                dist.broadcast(p.data, src=self._global(self.owner[i]), group=self.group)

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    def state_bytes(self):
        if self.optim is None:
            return 0
        return sum(
            v.numel() * v.element_size()
            for s in self.optim.state.values()
            for v in s.values()
            if torch.is_tensor(v)
        )
