# fails: 1
# message: shuffle
import random
import torch


class ResumableSampler(torch.utils.data.Sampler):
    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if world_size < 1 or not (0 <= rank < world_size) or length < world_size:
            raise ValueError("bad length, rank or world_size")
        self.length = length
        self.seed = seed
        self.shuffle = shuffle
        self.rank = rank
        self.world_size = world_size
        self.epoch = 0
        self.consumed = 0
        self.done = False

    _cache = {}

    def _order(self):
        key = (self.seed, self.epoch, self.length)
        if key in self._cache:
            return self._cache[key]
        order = list(range(self.length))
        if self.shuffle:
            random.Random(f"{self.seed}-{self.epoch}").shuffle(order)
        self._cache[key] = order
        return order

    def __iter__(self):
        if self.consumed + self.world_size > self.length:
            self.epoch += 1
            self.consumed = 0
        order = self._order()
        while self.consumed + self.world_size <= self.length:
            index = order[self.consumed + self.rank]
            self.consumed += self.world_size
            yield index
        self.epoch += 1
        self.consumed = 0

    def __len__(self):
        return (self.length - self.consumed) // self.world_size

    def set_epoch(self, epoch):
        if epoch != self.epoch:
            self.epoch = epoch
            self.consumed = 0

    def state_dict(self):
        epoch, consumed = self.epoch, self.consumed
        if consumed + self.world_size > self.length:
            epoch, consumed = epoch + 1, 0
        return {
            "epoch": epoch,
            "consumed": consumed,
            "length": self.length,
            "seed": self.seed,
            "shuffle": self.shuffle,
        }

    def load_state_dict(self, state):
        for key in ("length", "seed", "shuffle"):
            if state[key] != getattr(self, key):
                raise ValueError(f"{key} differs")
        self.epoch = state["epoch"]
        self.consumed = state["consumed"]
