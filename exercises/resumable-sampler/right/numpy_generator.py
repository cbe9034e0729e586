import numpy as np
from torch.utils.data import Sampler


class ResumableSampler(Sampler):
    """numpy's SeedSequence mixes seed and epoch; the iterator is a small object of its own."""

    FIXED = ("length", "seed", "shuffle")

    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if world_size < 1:
            raise ValueError("world_size")
        if rank < 0 or rank >= world_size:
            raise ValueError("rank")
        if length < world_size:
            raise ValueError("length")
        self.length, self.seed, self.shuffle, self.rank, self.world_size = (
            length,
            seed,
            shuffle,
            rank,
            world_size,
        )
        self._epoch = 0
        self._taken = 0

    def _permutation(self):
        if self.shuffle:
            rng = np.random.default_rng([self.seed, self._epoch])
            return [int(i) for i in rng.permutation(self.length)]
        return list(range(self.length))

    def __iter__(self):
        if not len(self):
            self._advance()
        return _Walk(self)

    def _advance(self):
        self._epoch += 1
        self._taken = 0

    def __len__(self):
        return (self.length - self._taken) // self.world_size

    def set_epoch(self, epoch):
        if self._epoch == epoch:
            return
        self._epoch = epoch
        self._taken = 0

    def state_dict(self):
        fixed = {name: getattr(self, name) for name in self.FIXED}
        if len(self):
            return {**fixed, "epoch": self._epoch, "taken": self._taken}
        return {**fixed, "epoch": self._epoch + 1, "taken": 0}

    def load_state_dict(self, state):
        for name in self.FIXED:
            if state[name] != getattr(self, name):
                raise ValueError(f"the state has another {name}")
        self._epoch = int(state["epoch"])
        self._taken = int(state["taken"])


class _Walk:
    def __init__(self, sampler):
        self.sampler = sampler
        self.order = sampler._permutation()
        self.done = False

    def __iter__(self):
        return self

    def __next__(self):
        sampler = self.sampler
        if self.done:
            raise StopIteration
        if not len(sampler):
            self.done = True
            sampler._advance()
            raise StopIteration
        index = self.order[sampler._taken + sampler.rank]
        sampler._taken += sampler.world_size
        return index
