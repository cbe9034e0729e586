# fails: 14
# message: must not begin it again
import torch
from torch.utils.data import Sampler


class ResumableSampler(Sampler):
    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if world_size < 1:
            raise ValueError("world_size")
        if not 0 <= rank < world_size:
            raise ValueError("rank")
        if length < world_size:
            raise ValueError("length")
        self.length = length
        self.seed = seed
        self.shuffle = shuffle
        self.rank = rank
        self.world_size = world_size
        self.epoch = 0
        self.position = 0

    def _order(self):
        if not self.shuffle:
            return list(range(self.length))
        mixed = torch.Generator().manual_seed(self.seed % 2**31)
        a = torch.randint(2**31, (self.epoch % 1009 + 1,), generator=mixed)[-1].item()
        mixed.manual_seed((a ^ (self.epoch * 2654435761 + self.seed // 2**31)) % 2**32)
        return torch.randperm(self.length, generator=mixed).tolist()

    def __iter__(self):
        order = self._order()
        epoch = self.epoch
        while self.epoch == epoch and self.position + self.world_size <= self.length:
            index = order[self.position + self.rank]
            self.position += self.world_size
            yield index
        if self.epoch == epoch:
            self.epoch += 1
            self.position = 0

    def __len__(self):
        return (self.length - self.position) // self.world_size

    def set_epoch(self, epoch):
        if epoch != self.epoch or self.position + self.world_size > self.length:
            self.epoch = epoch
            self.position = 0

    def state_dict(self):
        epoch, position = self.epoch, self.position
        if position + self.world_size > self.length:
            epoch, position = epoch + 1, 0
        return {
            "length": self.length,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "epoch": epoch,
            "position": position,
        }

    def load_state_dict(self, state):
        for key in ("length", "seed", "shuffle"):
            if state[key] != getattr(self, key):
                raise ValueError(key)
        self.epoch = state["epoch"]
        self.position = state["position"]
