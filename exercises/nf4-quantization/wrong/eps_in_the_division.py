# fails: 6
# message: nothing may be added
"""bucketize at the midpoints, bytes by shifts; the layer keeps frozen parameters."""

import torch
import torch.nn.functional as F
from torch import nn

_LEVELS = torch.tensor(
    [
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
)
_CUTS = (_LEVELS[1:].double() + _LEVELS[:-1].double()).div(2).float()


def quantize_nf4(weight, block_size=64):
    w = weight.detach().float().flatten()
    if block_size < 1 or not torch.isfinite(w).all().item():
        raise ValueError("block_size must be positive, the weight finite")
    absmax = torch.stack([piece.abs().max() for piece in w.split(block_size)]) if w.numel() else w
    scale = absmax.repeat_interleave(block_size)[: w.numel()]
    unit = w / (scale + 1e-8)
    codes = torch.bucketize(unit, _CUTS.to(w.device)).to(torch.uint8)
    if codes.numel() & 1:
        codes = torch.cat([codes, codes.new_full((1,), 7)])
    return (codes[0::2] << 4) | codes[1::2], absmax


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    n = 1
    for side in shape:
        n *= side
    if block_size < 1 or packed.numel() != (n + 1) // 2 or absmax.numel() != -(-n // block_size):
        raise ValueError("sizes do not fit")
    codes = torch.empty(2 * packed.numel(), dtype=torch.int32, device=packed.device)
    codes[0::2] = packed >> 4
    codes[1::2] = packed & 15
    values = _LEVELS.to(packed.device).take(codes[:n].long())
    return (values * absmax.repeat_interleave(block_size)[:n]).to(dtype).reshape(tuple(shape))


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        packed, absmax = quantize_nf4(base.weight, block_size)
        self.packed = nn.Parameter(packed, requires_grad=False)
        self.absmax = nn.Parameter(absmax, requires_grad=False)
        self.bias = None
        if base.bias is not None:
            self.bias = nn.Parameter(base.bias.detach().float().clone(), requires_grad=False)
        self.in_features, self.out_features, self.block_size = base.in_features, base.out_features, block_size

    def forward(self, x):
        shape = (self.out_features, self.in_features)
        weight = dequantize_nf4(self.packed, self.absmax, shape, self.block_size, x.dtype)
        bias = self.bias if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, weight, bias)
