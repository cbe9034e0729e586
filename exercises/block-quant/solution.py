"""Block quantization with a shared power-of-two scale: MXFP8 (e4m3) and MXFP4 (e2m1).

Invariant: value = element * 2**exponent. The exponent comes from the block's largest magnitude alone, and
scaling by it is exact. All rounding happens once, on the element grid: within a binade the grid is even, and
below the smallest normal value its step stops shrinking.
"""

import torch
from torch import Tensor

BLOCK = 32
# largest value, its exponent, mantissa bits, exponent of the smallest normal value
FORMATS = {"e4m3": (448.0, 8, 3, -6), "e2m1": (6.0, 2, 1, 0)}
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def checked(x: Tensor, fmt: str) -> Tensor:
    """The input in float32, without its graph."""
    if fmt not in FORMATS:
        raise ValueError(f"unknown format {fmt!r}")
    if x.dim() == 0 or x.shape[-1] == 0 or x.shape[-1] % BLOCK:
        raise ValueError(f"the last dimension must be a multiple of {BLOCK}")
    x = x.detach().float()
    if not x.isfinite().all():
        raise ValueError("x must be finite")
    return x


def floor_log2(x: Tensor) -> Tensor:
    """The exponent of the largest power of two that is at most x, exactly, for x > 0."""
    return torch.frexp(x).exponent - 1


def spread(exponents: Tensor) -> Tensor:
    """One exponent for each element instead of one for each block."""
    return exponents.repeat_interleave(BLOCK, dim=-1)


def shared_exponents(x: Tensor, fmt: str = "e4m3") -> Tensor:
    """(..., K) -> int32 (..., K / 32)."""
    x = checked(x, fmt)
    _, emax, _, _ = FORMATS[fmt]
    amax = x.unflatten(-1, (-1, BLOCK)).abs().amax(dim=-1)
    exponents = (floor_log2(amax) - emax).clamp(-127, 127)
    return torch.where(amax == 0, -127, exponents).to(torch.int32)


def quantize(x: Tensor, fmt: str = "e4m3") -> tuple[Tensor, Tensor]:
    """(..., K) -> elements (..., K) on the grid of the format, and exponents (..., K / 32)."""
    exponents = shared_exponents(x, fmt)
    largest, _, mantissa_bits, smallest_normal = FORMATS[fmt]
    scaled = torch.ldexp(checked(x, fmt), -spread(exponents))
    binade = floor_log2(scaled.abs()).clamp_min(smallest_normal)
    shift = mantissa_bits - binade
    rounded = torch.ldexp(torch.ldexp(scaled, shift).round(), -shift)
    return rounded.clamp(-largest, largest), exponents


def dequantize(elements: Tensor, exponents: Tensor) -> Tensor:
    """float32 (..., K)."""
    return torch.ldexp(elements.float(), spread(exponents))


def mx_matmul(a: Tensor, b: Tensor, fmt: str = "e4m3") -> Tensor:
    """(M, K) and (N, K) -> (M, N), both quantized along K."""
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"inner sizes {a.shape[-1]} and {b.shape[-1]} differ")
    return dequantize(*quantize(a, fmt)) @ dequantize(*quantize(b, fmt)).t()


def pack_fp4(elements: Tensor) -> Tensor:
    """(..., K) -> uint8 (..., K / 2), the first of two elements in the low half."""
    if elements.shape[-1] % 2:
        raise ValueError("two elements share a byte, so their number must be even")
    table = torch.tensor(FP4, device=elements.device)
    matches = elements.detach().float().abs()[..., None] == table
    if not matches.any(dim=-1).all():
        raise ValueError("not all values are e2m1 values")
    codes = matches.to(torch.uint8).argmax(dim=-1) + 8 * (elements < 0)
    return (codes[..., 0::2] + 16 * codes[..., 1::2]).to(torch.uint8)


def unpack_fp4(packed: Tensor) -> Tensor:
    """uint8 (..., K / 2) -> float32 (..., K)."""
    table = torch.tensor([*FP4, *(-value for value in FP4)], device=packed.device)
    halves = torch.stack([packed & 15, packed >> 4], dim=-1)
    return table[halves.long()].flatten(-2)
