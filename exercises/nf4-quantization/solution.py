"""An element's block and byte follow from its own flat index: i // block_size and i // 2.

The nearest of sorted levels is found by bisecting the 15 midpoints; no tensor has more elements than the padded weight.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = [
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
]


@torch.no_grad()
def quantize_nf4(weight: Tensor, block_size: int = 64) -> tuple[Tensor, Tensor]:
    """Two codes per byte (uint8), and the largest absolute value of every block (float32)."""
    if block_size < 1:
        raise ValueError("block_size must be at least 1")
    flat = weight.reshape(-1).to(torch.float32)
    if not torch.isfinite(flat).all():
        raise ValueError("the weight holds inf or NaN")
    n = flat.numel()
    blocks = F.pad(flat, (0, -n % block_size)).view(-1, block_size)
    absmax = blocks.abs().amax(dim=1)
    safe = torch.where(absmax > 0, absmax, torch.ones_like(absmax))
    levels = torch.tensor(LEVELS, device=flat.device)
    middles = (levels[1:] + levels[:-1]) / 2
    codes = torch.bucketize(blocks / safe[:, None], middles).view(-1)[:n].to(torch.uint8)
    codes = F.pad(codes, (0, n % 2), value=7)
    return codes[0::2] << 4 | codes[1::2], absmax


@torch.no_grad()
def dequantize_nf4(
    packed: Tensor,
    absmax: Tensor,
    shape: Sequence[int],
    block_size: int = 64,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """The weight that the codes stand for."""
    if block_size < 1:
        raise ValueError("block_size must be at least 1")
    n = math.prod(shape)
    if packed.numel() != (n + 1) // 2 or absmax.numel() != -(-n // block_size):
        raise ValueError("the shape does not fit the packed weight")
    levels = torch.tensor(LEVELS, device=packed.device)
    codes = torch.stack([packed >> 4, packed & 15], dim=1).view(-1)[:n]
    scales = absmax.repeat_interleave(block_size)[:n]
    return (levels[codes.long()] * scales).to(dtype).view(*shape)


class NF4Linear(nn.Module):
    """A frozen linear layer that keeps its weight in 4 bits."""

    def __init__(self, base: nn.Linear, block_size: int = 64):
        super().__init__()
        self.shape = tuple(base.weight.shape)
        self.block_size = block_size
        packed, absmax = quantize_nf4(base.weight, block_size)
        self.register_buffer("packed", packed)
        self.register_buffer("absmax", absmax)
        self.register_buffer("bias", None if base.bias is None else base.bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        weight = dequantize_nf4(self.packed, self.absmax, self.shape, self.block_size, x.dtype)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, weight, bias)
