# fails: 8
# message: A shape that does not fit packed
import math
import torch
import torch.nn.functional as F
from torch import nn

LEVELS = (
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
)


def quantize_nf4(weight, block_size=64):
    if block_size < 1:
        raise ValueError("block_size")
    w = weight.detach().float().reshape(-1)
    if not torch.isfinite(w).all():
        raise ValueError("not finite")
    n = w.numel()
    nb = -(-n // block_size)
    blocks = F.pad(w, (0, nb * block_size - n)).view(nb, block_size)
    absmax = blocks.abs().amax(1)
    normed = blocks / torch.where(absmax > 0, absmax, torch.ones_like(absmax))[:, None]
    levels = torch.tensor(LEVELS, device=w.device)
    mids = (levels[1:] + levels[:-1]) / 2
    codes = torch.bucketize(normed, mids).to(torch.uint8).view(-1)[:n]
    codes = F.pad(codes, (0, n % 2), value=7)
    packed = codes[0::2] << 4 | codes[1::2]
    return packed, absmax


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    if block_size < 1:
        raise ValueError("block_size")
    n = math.prod(shape)
    if packed.numel() != (n + 1) // 2 and packed.numel() != n // 2 or absmax.numel() != -(-n // block_size):
        raise ValueError("shape")
    levels = torch.tensor(LEVELS, device=packed.device)
    codes = torch.stack((packed >> 4, packed & 15), -1).view(-1)[:n]
    w = levels[codes.long()] * absmax.repeat_interleave(block_size)[:n]
    return w.view(tuple(shape)).to(dtype)


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        packed, absmax = quantize_nf4(base.weight, block_size)
        self.register_buffer("packed", packed)
        self.register_buffer("absmax", absmax)
        bias = None if base.bias is None else base.bias.detach().clone()
        self.register_buffer("bias", bias)
        self.shape = tuple(base.weight.shape)
        self.block_size = block_size

    def forward(self, x):
        w = dequantize_nf4(self.packed, self.absmax, self.shape, self.block_size, x.dtype)
        b = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, w, b)
