import math

import torch


def _mix(z):
    """splitmix64's finaliser."""
    z &= (1 << 64) - 1
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & (1 << 64) - 1
    return z ^ (z >> 31)


class ResumableSampler(torch.utils.data.Sampler[int]):
    """Sorts the indices by a hash of (seed, epoch, index); position is samples since the start of time."""

    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if world_size < 1 or not 0 <= rank < world_size or length < world_size:
            raise ValueError("need world_size >= 1, 0 <= rank < world_size <= length")
        self.length = length
        self.seed = seed
        self.shuffle = shuffle
        self.rank = rank
        self.world_size = world_size
        self.clock = 0  # epoch * (length + 1) + samples handed out

    def _split(self):
        return divmod(self.clock, self.length + 1)

    def _order(self, epoch):
        if not self.shuffle:
            return range(self.length)
        sign = 1 if self.seed < 0 else 0
        base = _mix(_mix(_mix(abs(self.seed) + 1) + sign) ^ _mix(epoch * 0x9E3779B97F4A7C15 + 77))
        return sorted(range(self.length), key=lambda i: (_mix(base + i * 0x9E3779B97F4A7C15), i))

    def __len__(self):
        return math.floor((self.length - self._split()[1]) / self.world_size)

    def __iter__(self):
        epoch, done = self._split()
        order = self._order(epoch)
        for start in range(done, self.length - self.world_size + 1, self.world_size):
            self.clock = epoch * (self.length + 1) + start + self.world_size
            yield order[start + self.rank]
        self.clock = (epoch + 1) * (self.length + 1)

    def set_epoch(self, epoch):
        if epoch != self._split()[0]:
            self.clock = epoch * (self.length + 1)

    def state_dict(self):
        epoch, done = self._split()
        if self.length - done < self.world_size:
            epoch, done = epoch + 1, 0
        return {
            "clock": epoch * (self.length + 1) + done,
            "length": self.length,
            "seed": self.seed,
            "shuffle": self.shuffle,
        }

    def load_state_dict(self, state):
        for name in ("length", "seed", "shuffle"):
            if getattr(self, name) != state[name]:
                raise ValueError(f"the state has another {name}")
        self.clock = state["clock"]
