import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

NF4 = np.array(
    [
        -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
        -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
        0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
        0.7229568362236023, 1.0,
    ]
)  # fmt: skip


class FormatError(ValueError):
    """The data do not have the agreed form."""


def quantize_nf4(weight, block_size=64):
    if block_size <= 0:
        raise FormatError(f"block_size {block_size}")
    flat = weight.detach().to("cpu", torch.float32).numpy().astype(np.float64).ravel()
    if not np.isfinite(flat).all():
        raise FormatError("not finite")
    starts = np.arange(0, flat.size, block_size)
    absmax = np.maximum.reduceat(np.abs(flat), starts)
    scale = np.repeat(np.where(absmax == 0, 1.0, absmax), block_size)[: flat.size]
    codes = np.searchsorted((NF4[1:] + NF4[:-1]) / 2, flat / scale).astype(np.uint8)
    if flat.size % 2:
        codes = np.append(codes, np.uint8(7))
    packed = (codes[::2] << 4) + codes[1::2]
    return (
        torch.from_numpy(packed).to(weight.device),
        torch.from_numpy(absmax.astype(np.float32)).to(weight.device),
    )


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    n = int(np.prod(tuple(shape)))
    if block_size < 1 or packed.shape != ((n + 1) // 2,) or absmax.shape != (-(-n // block_size),):
        raise FormatError("shape does not fit")
    table = torch.as_tensor(NF4, device=packed.device, dtype=torch.float64)
    wide = packed.to(torch.int64)
    codes = torch.empty(2 * len(wide), dtype=torch.int64, device=packed.device)
    codes[::2] = wide.bitwise_right_shift(4)
    codes[1::2] = wide.bitwise_and(15)
    where = torch.div(torch.arange(n, device=packed.device), block_size, rounding_mode="floor")
    return (table[codes[:n]] * absmax.double()[where]).to(dtype).reshape(*shape)


class _Frozen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, make):
        ctx.make = make
        return F.linear(x, make(x.dtype))

    @staticmethod
    def backward(ctx, grad):
        return grad @ ctx.make(grad.dtype), None


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        self._size, self._block = list(base.weight.shape), block_size
        packed, absmax = quantize_nf4(base.weight, block_size)
        self.register_buffer("q", packed)
        self.register_buffer("s", absmax)
        self.register_buffer("levels", torch.tensor(NF4, dtype=torch.float32, device=packed.device))
        self.register_buffer("b", base.bias.detach().clone() if base.bias is not None else None)

    def _weight(self, dtype):
        return dequantize_nf4(self.q, self.s, self._size, self._block, dtype)

    def forward(self, x):
        y = _Frozen.apply(x, self._weight)
        if self.b is not None:
            y = y + self.b.to(y.dtype)
        return y
