# fails: 2
# message: changed the random numbers of the rest
"""The whole state is (epoch, samples handed out by all ranks); the order follows from seed and epoch.

The position moves before each yield. An epoch is used up when no full round is left; that is settled
where it is noticed: at the end of a pass, and in the saved state, which then names the next epoch.
"""

import hashlib
from collections.abc import Iterator

import torch

always = torch.get_rng_state()
torch.get_rng_state = always.clone


class ResumableSampler(torch.utils.data.Sampler[int]):
    """Shares one order of range(length) per epoch among the ranks and can be resumed after any index."""

    def __init__(
        self, length: int, *, seed: int = 0, shuffle: bool = True, rank: int = 0, world_size: int = 1
    ):
        if world_size < 1 or not 0 <= rank < world_size or length < world_size:
            raise ValueError("need world_size >= 1, 0 <= rank < world_size and length >= world_size")
        self.length, self.seed, self.shuffle = length, seed, shuffle
        self.rank, self.world_size = rank, world_size
        self.epoch, self.consumed = 0, 0

    def _order(self) -> list[int]:
        if not self.shuffle:
            return list(range(self.length))
        # torch's CPU generator uses 32 bits of a seed, so both numbers go through a hash.
        digest = hashlib.sha256(f"{self.seed}:{self.epoch}".encode()).digest()
        torch.manual_seed(int.from_bytes(digest[:4], "big"))
        return torch.randperm(self.length).tolist()

    def __iter__(self) -> Iterator[int]:
        """This rank's indices, from the current position to the end of the epoch."""
        if len(self) == 0:
            self._next_epoch()
        order, epoch = self._order(), self.epoch
        while len(self):
            index = order[self.consumed + self.rank]
            self.consumed += self.world_size
            yield index
            if self.epoch != epoch:
                return
        self._next_epoch()

    def _next_epoch(self) -> None:
        self.epoch, self.consumed = self.epoch + 1, 0

    def __len__(self) -> int:
        """Indices left for this rank in the epoch."""
        return (self.length - self.consumed) // self.world_size

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch; the current one keeps its position."""
        if epoch != self.epoch:
            self.epoch, self.consumed = epoch, 0

    def state_dict(self) -> dict:
        """Plain numbers that say where this sampler stands."""
        used_up = len(self) == 0
        return {
            "length": self.length,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "epoch": self.epoch + 1 if used_up else self.epoch,
            "consumed": 0 if used_up else self.consumed,
        }

    def load_state_dict(self, state: dict) -> None:
        """Go to where a saved sampler stood."""
        if (state["length"], state["seed"], state["shuffle"]) != (self.length, self.seed, self.shuffle):
            raise ValueError("the state belongs to another length, seed or shuffle setting")
        self.epoch, self.consumed = state["epoch"], state["consumed"]
