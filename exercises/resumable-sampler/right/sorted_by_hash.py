import hashlib

from torch.utils.data import Sampler


class ResumableSampler(Sampler):
    """No random generator at all: samples are sorted by a hash of (seed, epoch, index)."""

    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if not world_size >= 1:
            raise ValueError("world_size")
        if not 0 <= rank < world_size:
            raise ValueError("rank")
        if not length >= world_size:
            raise ValueError("length")
        self._fixed = (length, seed, bool(shuffle))
        self._rank, self._ws = rank, world_size
        self._where = [0, 0]
        self._cache = {}

    def _order(self, epoch):
        length, seed, shuffle = self._fixed
        if not shuffle:
            return range(length)
        if epoch not in self._cache:
            self._cache = {
                epoch: sorted(
                    range(length), key=lambda i: hashlib.sha256(repr((seed, epoch, i)).encode()).digest()
                )
            }
        return self._cache[epoch]

    def _settle(self, where):
        epoch, c = where
        return [epoch, c] if len(range(c, self._fixed[0])) >= self._ws else [epoch + 1, 0]

    def __iter__(self):
        self._where = self._settle(self._where)
        order = self._order(self._where[0])
        for _ in range(len(self)):
            i = order[self._where[1] + self._rank]
            self._where[1] += self._ws
            yield i
        self._where = self._settle(self._where)

    def __len__(self):
        return (self._fixed[0] - self._where[1]) // self._ws

    def set_epoch(self, epoch):
        self._where = self._where if self._where[0] == epoch else [epoch, 0]

    def state_dict(self):
        return {"fixed": list(self._fixed), "where": self._settle(list(self._where))}

    def load_state_dict(self, state):
        if tuple(state["fixed"]) != self._fixed:
            raise ValueError("settings differ")
        self._where = list(state["where"])
