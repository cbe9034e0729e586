"""Block by block in Python numbers, which hold every float32 exactly."""

import math

import torch

LIMITS = {"e4m3": (448.0, 8, 3, -6), "e2m1": (6.0, 2, 1, 0)}
HALVES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def _rows(x, fmt):
    if fmt not in LIMITS:
        raise ValueError("fmt must be e4m3 or e2m1")
    if not x.shape or not x.shape[-1] or x.shape[-1] % 32:
        raise ValueError("K must be a positive multiple of 32")
    rows = x.detach().float().reshape(-1, 32).tolist()
    if not all(math.isfinite(v) for row in rows for v in row):
        raise ValueError("x must be finite")
    return rows


def _exponent(row, emax):
    amax = max(abs(v) for v in row)
    if amax == 0:
        return -127
    return min(127, max(-127, math.frexp(amax)[1] - 1 - emax))


def _round(v, top, bits, low):
    step = 2.0 ** (max(math.frexp(v)[1] - 1, low) - bits) if v else 1.0
    return max(-top, min(top, round(v / step) * step))


def shared_exponents(x, fmt="e4m3"):
    values = [_exponent(row, LIMITS[fmt][1]) for row in _rows(x, fmt)]
    return torch.tensor(values, dtype=torch.int32, device=x.device).reshape(*x.shape[:-1], -1)


def quantize(x, fmt="e4m3"):
    out, exponents = [], shared_exponents(x, fmt)
    top, _, bits, low = LIMITS[fmt]
    for row, e in zip(_rows(x, fmt), exponents.flatten().tolist()):
        out.append([_round(math.ldexp(v, -e), top, bits, low) for v in row])
    return torch.tensor(out, dtype=torch.float32, device=x.device).reshape(x.shape), exponents


def dequantize(elements, exponents):
    e = exponents.unsqueeze(-1).expand(*exponents.shape, 32).reshape(elements.shape)
    return torch.ldexp(elements.double(), e).float()


def mx_matmul(a, b, fmt="e4m3"):
    if a.shape[1] != b.shape[1]:
        raise ValueError("a and b must have the same K")
    b = dequantize(*quantize(b, fmt))
    return torch.stack([(b * row).sum(1) for row in dequantize(*quantize(a, fmt))])


def pack_fp4(elements):
    if elements.shape[-1] % 2:
        raise ValueError("an odd number of elements")
    code = torch.full(elements.shape, -1, dtype=torch.int64, device=elements.device)
    for i, value in enumerate(HALVES):
        code[elements == -value] = i + 8 if value else 0
        code[elements == value] = i
    if (code < 0).any():
        raise ValueError("a value that FP4 does not have")
    low, high = code.unflatten(-1, (-1, 2)).unbind(-1)
    return (low + (high << 4)).to(torch.uint8)


def unpack_fp4(packed):
    signed = torch.tensor(HALVES + [-v for v in HALVES], device=packed.device)
    low, high = signed[(packed % 16).long()], signed[(packed.long() // 16)]
    return torch.stack((low, high), -1).reshape(*packed.shape[:-1], -1)
