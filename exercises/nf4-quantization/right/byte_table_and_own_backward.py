import functools
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


@functools.lru_cache(maxsize=None)
def table(device):
    return torch.tensor(LEVELS, dtype=torch.float64, device=device)


@functools.lru_cache(maxsize=None)
def pairs(device):
    t = torch.tensor(LEVELS, dtype=torch.float32, device=device)
    b = torch.arange(256, device=device)
    return torch.stack([t[b >> 4], t[b & 15]], 1)


def quantize_nf4(weight, block_size=64):
    if block_size <= 0:
        raise ValueError("block size")
    w = weight.detach().to(torch.float32)
    if torch.isnan(w).any() or torch.isinf(w).any():
        raise ValueError("non-finite")
    w = w.reshape(-1).double()
    rows = [c for c in w.split(block_size)] if w.numel() else []
    scales = [c.abs().max() for c in rows]
    codes = []
    for c, s in zip(rows, scales):
        # compare the weight with level * scale, no division at all
        t = table(str(c.device)) * s
        d = (c[:, None] - t[None]).abs()
        k = d.argmin(1)
        codes.append(torch.full_like(k, 7) if s == 0 else k)
    absmax = torch.stack(scales).float() if scales else torch.zeros(0, device=w.device)
    code = torch.cat(codes) if codes else torch.zeros(0, dtype=torch.long, device=w.device)
    if len(code) & 1:
        code = torch.cat((code, torch.full((1,), 7, device=w.device)))
    hi, lo = code.view(-1, 2).unbind(1)
    return (hi * 16 + lo).to(torch.uint8), absmax


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    if block_size <= 0:
        raise ValueError("block size")
    n = math.prod(shape)
    if packed.shape != ((n + 1) // 2,) or absmax.shape != (math.ceil(n / block_size),):
        raise ValueError("shape does not fit")
    flat = pairs(str(packed.device))[packed.int()].view(-1)[:n]
    out = torch.cat([c * a for c, a in zip(flat.split(block_size), absmax)]) if n else flat
    return out.to(dtype).view(*shape) if len(shape) else out.to(dtype).view(())


class _Frozen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, packed, absmax, bias, shape, bs):
        ctx.save_for_backward(packed, absmax)
        ctx.meta = shape, bs
        return F.linear(
            x, dequantize_nf4(packed, absmax, shape, bs, x.dtype), None if bias is None else bias.to(x.dtype)
        )

    @staticmethod
    def backward(ctx, g):
        packed, absmax = ctx.saved_tensors
        shape, bs = ctx.meta
        return g @ dequantize_nf4(packed, absmax, shape, bs, g.dtype), None, None, None, None, None


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        for k, v in zip(("packed", "absmax"), quantize_nf4(base.weight, block_size)):
            self.register_buffer(k, v)
        self.register_buffer("bias", base.bias.detach().clone() if base.bias is not None else None)
        self.geometry = (base.out_features, base.in_features), block_size

    def forward(self, x):
        return _Frozen.apply(x, self.packed, self.absmax, self.bias, *self.geometry)
