# fails: 8
# message: look at the elements, not at their sum
import math
import torch
import torch.nn.functional as F
from torch import nn

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


def quantize_nf4(weight, block_size=64):
    if block_size < 1:
        raise ValueError("block_size")
    flat = weight.detach().reshape(-1).float()
    if not torch.isfinite(flat.sum()):
        raise ValueError("not finite")
    levels = torch.tensor(LEVELS, device=flat.device)
    n = flat.numel()
    absmax = []
    codes = []
    for start in range(0, n, block_size):
        block = flat[start : start + block_size]
        top = block.abs().max()
        absmax.append(top)
        if top == 0:
            codes.append(torch.full((block.numel(),), 7, dtype=torch.uint8, device=flat.device))
            continue
        scaled = block / top
        codes.append((scaled[:, None] - levels[None, :]).abs().argmin(1).to(torch.uint8))
    codes = torch.cat(codes) if codes else torch.zeros(0, dtype=torch.uint8, device=flat.device)
    if n % 2 == 1:
        codes = torch.cat([codes, torch.tensor([7], dtype=torch.uint8, device=flat.device)])
    packed = codes[0::2] * 16 + codes[1::2]
    absmax = torch.stack(absmax) if absmax else flat.new_zeros(0)
    return packed, absmax


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    if block_size < 1:
        raise ValueError("block_size")
    n = math.prod(shape)
    if packed.numel() != (n + 1) // 2 or absmax.numel() != -(-n // block_size):
        raise ValueError("shape")
    levels = torch.tensor(LEVELS, device=packed.device)
    codes = torch.stack([packed >> 4, packed & 15], dim=1).reshape(-1)[:n].long()
    scale = absmax.repeat_interleave(block_size)[:n]
    return (levels[codes] * scale).reshape(tuple(shape)).to(dtype)


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        packed, absmax = quantize_nf4(base.weight, block_size)
        self.register_buffer("packed", packed)
        self.register_buffer("absmax", absmax)
        self.register_buffer("bias", None if base.bias is None else base.bias.detach().clone())
        self.block_size = block_size
        self.shape = (base.out_features, base.in_features)

    def forward(self, x):
        w = dequantize_nf4(self.packed, self.absmax, self.shape, self.block_size, x.dtype)
        b = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, w, b)
