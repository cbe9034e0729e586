import random
from collections.abc import Iterator

from torch.utils.data import Sampler


class ResumableSampler(Sampler[int]):
    """Keeps where the epoch began for these ranks and how many rounds have passed since."""

    def __init__(
        self, length: int, *, seed: int = 0, shuffle: bool = True, rank: int = 0, world_size: int = 1
    ):
        super().__init__()
        if not (world_size >= 1 and 0 <= rank < world_size and length >= world_size):
            raise ValueError("bad rank, world size or length")
        self._settings = {"length": length, "seed": seed, "shuffle": shuffle}
        self._rank, self._world = rank, world_size
        self._epoch = self._start = self._rounds = 0

    @property
    def _position(self) -> int:
        return self._start + self._rounds * self._world

    def _used_up(self) -> bool:
        return self._position + self._world > self._settings["length"]

    def _go(self, epoch: int, start: int = 0) -> None:
        self._epoch, self._start, self._rounds = epoch, start, 0

    def __iter__(self) -> Iterator[int]:
        if self._used_up():
            self._go(self._epoch + 1)
        order = list(range(self._settings["length"]))
        if self._settings["shuffle"]:
            random.Random(f"{self._settings['seed']}/{self._epoch}").shuffle(order)
        here = self._epoch
        while not self._used_up():
            index = order[self._position + self._rank]
            self._rounds += 1
            yield index
            if self._epoch != here:
                return
        self._go(self._epoch + 1)

    def __len__(self) -> int:
        return max(0, self._settings["length"] - self._position) // self._world

    def set_epoch(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._go(epoch)

    def state_dict(self) -> dict:
        done = self._used_up()
        where = [self._epoch + 1, 0] if done else [self._epoch, self._position]
        return {"settings": dict(self._settings), "where": where}

    def load_state_dict(self, state: dict) -> None:
        if state["settings"] != self._settings:
            raise ValueError("this state belongs to other data")
        self._go(*state["where"])
