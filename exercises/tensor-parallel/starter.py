"""Tensor parallelism: a column-parallel and a row-parallel linear layer."""

import torch.distributed as dist
from torch import Tensor, nn


class ColumnParallelLinear(nn.Module):
    """This rank's outputs of a linear layer whose input every rank has."""

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out / t): this rank's outputs."""
        raise NotImplementedError


class RowParallelLinear(nn.Module):
    """All outputs of a linear layer of whose inputs every rank has a part."""

    def __init__(self, full: nn.Linear, group: dist.ProcessGroup | None = None):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """This rank's inputs (..., in / t) -> (..., out)."""
        raise NotImplementedError
