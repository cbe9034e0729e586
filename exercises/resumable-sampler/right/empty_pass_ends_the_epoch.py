import random

import torch


class ResumableSampler(torch.utils.data.Sampler):
    def __init__(self, length, *, seed=0, shuffle=True, rank=0, world_size=1):
        if not (world_size >= 1 and 0 <= rank < world_size and length >= world_size):
            raise ValueError
        self.fixed = {"length": length, "seed": seed, "shuffle": shuffle}
        self.rank, self.world, self.epoch, self.pos = rank, world_size, 0, 0

    def __len__(self):
        return (self.fixed["length"] - self.pos) // self.world

    def __iter__(self):
        order = list(range(self.fixed["length"]))
        if self.fixed["shuffle"]:
            random.Random(f"{self.fixed['seed']}/{self.epoch}").shuffle(order)
        epoch = self.epoch
        while self.epoch == epoch and len(self):
            self.pos += self.world
            yield order[self.pos - self.world + self.rank]
        if self.epoch == epoch:
            self.epoch, self.pos = epoch + 1, 0

    def set_epoch(self, epoch):
        if epoch != self.epoch:
            self.epoch, self.pos = epoch, 0

    def state_dict(self):
        done = len(self) == 0
        return self.fixed | {"epoch": self.epoch + done, "pos": 0 if done else self.pos}

    def load_state_dict(self, state):
        if any(state[k] != v for k, v in self.fixed.items()):
            raise ValueError
        self.epoch, self.pos = state["epoch"], state["pos"]
