"""ZeRO-1: an optimizer whose state is sharded over the ranks."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.optim import Optimizer


def partition(numels: Sequence[int], world_size: int) -> list[list[int]]:
    """The indices of ``numels`` that each rank owns, balanced by their sums."""
    raise NotImplementedError


class ShardedOptimizer:
    """Averages gradients over the ranks and keeps only this rank's share of the
    optimizer state.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        optimizer_class: type[Optimizer],
        *,
        group: dist.ProcessGroup | None = None,
        **kwargs: Any,
    ):
        raise NotImplementedError

    def step(self) -> None:
        """One step of the whole group with the averaged gradients."""
        raise NotImplementedError

    def zero_grad(self) -> None:
        """Set the gradients of all parameters to None."""
        raise NotImplementedError

    def state_bytes(self) -> int:
        """Bytes of the tensors in this rank's optimizer state."""
        raise NotImplementedError
