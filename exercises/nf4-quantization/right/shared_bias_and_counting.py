import math

import torch
import torch.nn.functional as F
from torch import nn

levels = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635]
levels += [-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725]
levels += [0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941]
levels += [0.7229568362236023, 1.0]


def _scales(absmax, block_size, n):
    return absmax[:, None].expand(-1, block_size).reshape(-1)[:n]


def quantize_nf4(weight, block_size=64):
    if not isinstance(block_size, int) or block_size < 1:
        raise ValueError("block_size must be a positive integer")
    values = weight.detach().contiguous().view(-1).to(torch.float32)
    n = values.numel()
    if not bool(values.abs().max() < math.inf):
        raise ValueError("weight must be finite")
    count = (n + block_size - 1) // block_size
    padded = values.new_zeros(count * block_size)
    padded[:n] = values
    absmax = padded.view(count, block_size).abs().max(1)[0]
    ratio = (values / _scales(absmax, block_size, n)).nan_to_num(0.0)
    codes = torch.zeros(n, dtype=torch.uint8, device=weight.device)
    for low, high in zip(levels, levels[1:]):
        codes += ratio > (low + high) / 2
    packed = torch.full(((n + 1) // 2,), 7, dtype=torch.uint8, device=weight.device)
    packed[: n // 2] = codes[1::2]
    packed += codes[::2] * 16
    return packed, absmax


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    if block_size < 1:
        raise ValueError("block_size must be positive")
    n = math.prod(shape)
    if 2 * packed.numel() - n not in (0, 1) or absmax.numel() != math.ceil(n / block_size):
        raise ValueError("shape does not fit")
    pair = torch.tensor([(levels[b >> 4], levels[b & 15]) for b in range(256)], device=packed.device)
    return (pair[packed.int()].flatten()[:n] * _scales(absmax, block_size, n)).reshape(shape).to(dtype)


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        self.shape, self.block_size = base.weight.shape, block_size
        self.packed, self.absmax = (nn.Buffer(t) for t in quantize_nf4(base.weight, block_size))
        self.bias = nn.Buffer(base.bias.detach()) if base.bias is not None else None

    def forward(self, x):
        with torch.no_grad():
            w = dequantize_nf4(self.packed, self.absmax, self.shape, self.block_size, x.dtype)
            b = self.bias.type_as(x) if self.bias is not None else None
        return F.linear(x, w, b)
