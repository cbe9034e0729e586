"""Data parallelism by hand: broadcast at the start, bucketed averages of the
gradients afterwards.
"""

import torch.distributed as dist
from torch import nn


def broadcast_parameters(
    module: nn.Module,
    src: int = 0,
    group: dist.ProcessGroup | None = None,
) -> None:
    """Copy the parameters and buffers of global rank ``src`` into those of
    every rank of the group, in place.
    """
    raise NotImplementedError


def average_gradients(
    module: nn.Module,
    bucket_bytes: int = 25 * 2**20,
    group: dist.ProcessGroup | None = None,
) -> None:
    """Replace every gradient by its mean over the ranks of the group, in flat
    buckets of one dtype.
    """
    raise NotImplementedError
