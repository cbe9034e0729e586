# fails: 3
# message: gave the same order
"""Order from a hash of (seed, epoch); positions kept as two ints."""

import random
from hashlib import blake2b

import torch


class ResumableSampler(torch.utils.data.Sampler[int]):
    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if world_size < 1 or not 0 <= rank < world_size or length < world_size:
            raise ValueError("world_size >= 1, 0 <= rank < world_size <= length")
        self.length, self.seed, self.shuffle = length, seed, shuffle
        self.rank, self.world = rank, world_size
        self.epoch = self.consumed = 0

    def _order(self):
        order = list(range(self.length))
        if self.shuffle:
            random.Random(self.seed * 1000 + self.epoch).shuffle(order)
        return order

    @property
    def _left(self):
        return (self.length - self.consumed) // self.world

    def __iter__(self):
        if not self._left:
            self._next_epoch()
        order, epoch = self._order(), self.epoch
        while self._left:
            index = order[self.consumed + self.rank]
            self.consumed += self.world
            yield index
        if self.epoch == epoch:
            self._next_epoch()

    def _next_epoch(self):
        self.epoch, self.consumed = self.epoch + 1, 0

    def __len__(self):
        return self._left

    def set_epoch(self, epoch):
        if epoch != self.epoch:
            self.epoch, self.consumed = epoch, 0

    def state_dict(self):
        done = not self._left
        return {
            "length": self.length,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "epoch": self.epoch + done,
            "consumed": 0 if done else self.consumed,
        }

    def load_state_dict(self, state):
        mine = {"length": self.length, "seed": self.seed, "shuffle": self.shuffle}
        if any(state[key] != value for key, value in mine.items()):
            raise ValueError("state of another sampler")
        self.epoch, self.consumed = state["epoch"], state["consumed"]
