from collections.abc import Sequence

import torch
from torch import Tensor, nn


def quantize_nf4(weight: Tensor, block_size: int = 64) -> tuple[Tensor, Tensor]:
    """Two codes per byte (uint8), and the largest absolute value of every block
    (float32).
    """
    raise NotImplementedError


def dequantize_nf4(
    packed: Tensor,
    absmax: Tensor,
    shape: Sequence[int],
    block_size: int = 64,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """The weight that the codes stand for."""
    raise NotImplementedError


class NF4Linear(nn.Module):
    """A frozen linear layer that keeps its weight in 4 bits."""

    def __init__(self, base: nn.Linear, block_size: int = 64):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError
