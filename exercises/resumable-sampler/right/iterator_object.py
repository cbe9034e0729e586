from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch.utils.data import Sampler

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class _Position:
    epoch: int = 0
    handed_out: int = 0


class _Pass:
    """One pass over what is left of the epoch."""

    __slots__ = ("owner", "epoch", "order")

    def __init__(self, owner: "ResumableSampler") -> None:
        self.owner = owner
        self.epoch = None
        self.order = None

    def __iter__(self) -> "_Pass":
        return self

    def __next__(self) -> int:
        owner = self.owner
        if self.order is None:
            owner._position = owner._normalised()
            self.epoch = owner._position.epoch
            self.order = owner._permutation(self.epoch)
        if owner._position.epoch != self.epoch:
            raise StopIteration
        if owner._exhausted:
            owner._position = _Position(self.epoch + 1)
            raise StopIteration
        done = owner._position.handed_out
        owner._position = _Position(self.epoch, done + owner.world_size)
        return int(self.order[done + owner.rank])


class ResumableSampler(Sampler[int]):
    VERSION = 1

    def __init__(
        self,
        length: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = True,
    ):
        super().__init__()
        if world_size < 1:
            raise ValueError(f"world_size {world_size} < 1")
        if rank not in range(world_size):
            raise ValueError(f"rank {rank} not in [0, {world_size})")
        if length < world_size:
            raise ValueError(f"{length} samples for {world_size} ranks")
        self.length, self.seed, self.shuffle, self.rank, self.world_size = (
            length,
            seed,
            shuffle,
            rank,
            world_size,
        )
        self._position = _Position()

    @property
    def epoch(self) -> int:
        return self._position.epoch

    @property
    def _exhausted(self) -> bool:
        return self.length - self._position.handed_out < self.world_size

    def _normalised(self) -> _Position:
        return _Position(self.epoch + 1) if self._exhausted else self._position

    def _permutation(self, epoch: int) -> np.ndarray:
        if not self.shuffle:
            return np.arange(self.length)
        return np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, epoch]))).permutation(
            self.length
        )

    def __iter__(self) -> Iterator[int]:
        return _Pass(self)

    def __len__(self) -> int:
        return max(0, self.length - self._position.handed_out) // self.world_size

    def set_epoch(self, epoch: int) -> None:
        if epoch == self.epoch:
            return
        self._position = _Position(epoch)

    def _settings(self) -> dict[str, Any]:
        return {"length": self.length, "seed": self.seed, "shuffle": bool(self.shuffle)}

    def state_dict(self) -> dict[str, Any]:
        return {
            "version": self.VERSION,
            "settings": self._settings(),
            "position": dataclasses.asdict(self._normalised()),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("version") != self.VERSION:
            raise ValueError("unknown version")
        theirs = state["settings"]
        if diff := {k: (theirs[k], v) for k, v in self._settings().items() if theirs[k] != v}:
            raise ValueError(f"state of another run: {diff}")
        self._position = _Position(**state["position"])
        logger.info("resumed at %s", self._position)
