import torch
import torch.distributed as dist


def partition(numels, world_size):
    """Dealt out in turns from large to small: neighbours in the sorted order bound the difference."""
    if world_size <= 0:
        raise ValueError(world_size)
    numels = list(numels)
    if [n for n in numels if n < 0]:
        raise ValueError(numels)
    order = sorted(range(len(numels)), key=numels.__getitem__, reverse=True)
    return [sorted(order[r::world_size]) for r in range(world_size)]


class ShardedOptimizer:
    def __init__(self, params, optimizer_class, *, group=None, **kwargs):
        self._all = [p for p in params]
        if len(self._all) == 0:
            raise ValueError("empty")
        self._group = group
        self._n = dist.get_world_size(group)
        self._me = dist.get_rank(group)
        self._members = list(range(self._n)) if group is None else dist.get_process_group_ranks(group)
        self._parts = partition([p.numel() for p in self._all], self._n)
        self._make = lambda: optimizer_class([self._all[i] for i in self._parts[self._me]], **kwargs)
        self._optimizer = None

    def step(self):
        work = []
        for p in self._all:
            if p.grad is not None:
                g = p.grad.detach().clone(memory_format=torch.contiguous_format)
                work.append((p, g, dist.all_reduce(g, group=self._group, async_op=True)))
        for p, g, handle in work:
            handle.wait()
            p.grad = g.div_(self._n)
        if self._parts[self._me]:
            if self._optimizer is None:
                self._optimizer = self._make()
            self._optimizer.step()
        handles = []
        for r, part in enumerate(self._parts):
            for i in part:
                handles.append(
                    dist.broadcast(self._all[i].detach(), self._members[r], group=self._group, async_op=True)
                )
        for h in handles:
            h.wait()

    def zero_grad(self):
        for p in self._all:
            p.grad = None

    def state_bytes(self):
        states = {} if self._optimizer is None else self._optimizer.state
        return sum(
            v.element_size() * v.numel()
            for s in states.values()
            for v in s.values()
            if isinstance(v, torch.Tensor)
        )
