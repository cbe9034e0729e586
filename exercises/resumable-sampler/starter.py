from collections.abc import Iterator

import torch


class ResumableSampler(torch.utils.data.Sampler[int]):
    """Shares one order of range(length) per epoch among the ranks and can be
    resumed after any index.
    """

    def __init__(
        self,
        length: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        world_size: int = 1,
    ):
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        """This rank's indices, from the current position to the end of the
        epoch.
        """
        raise NotImplementedError

    def __len__(self) -> int:
        """Indices left for this rank in the epoch."""
        raise NotImplementedError

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch; the current one keeps its
        position.
        """
        raise NotImplementedError

    def state_dict(self) -> dict:
        """Plain numbers that say where this sampler stands."""
        raise NotImplementedError

    def load_state_dict(self, state: dict) -> None:
        """Go to where a saved sampler stood."""
        raise NotImplementedError
