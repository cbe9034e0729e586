"""Every code is round(value / step), shifted by the zero point and clamped: the only choices are the step and the
zero point (per channel and 0, or from a calibrated range that includes 0) and what backward pretends: rounding is
the identity, clamping is not.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor


def quantize_per_channel(weight: Tensor, axis: int = 0) -> tuple[Tensor, Tensor]:
    """Symmetric int8 codes of the weight's shape, and one float32 scale per channel along `axis`."""
    w = weight.detach()
    if not torch.isfinite(w).all():
        raise ValueError("the weight holds inf or NaN")
    rows = w.movedim(axis, 0)
    largest = rows.reshape(rows.shape[0], -1).abs().amax(dim=1)
    scale = (largest / 127).to(torch.float32)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    steps = rows / scale.view(-1, *[1] * (w.dim() - 1))
    q = steps.round().clamp(-127, 127).to(torch.int8)
    return q.movedim(0, axis).contiguous(), scale


def calibrate_affine(batches: Iterable[Tensor]) -> tuple[float, int]:
    """Scale and zero point of an unsigned 8-bit grid that covers every value of every batch."""
    low, high, empty = 0.0, 0.0, True
    for batch in batches:
        smallest, largest = batch.min().item(), batch.max().item()
        if not (math.isfinite(smallest) and math.isfinite(largest)):
            raise ValueError("a batch holds inf or NaN")
        low, high, empty = min(low, smallest), max(high, largest), False
    if empty:
        raise ValueError("there are no batches")
    if low == high:
        return 1.0, 0
    scale = (high - low) / 255
    zero_point = min(max(round(-low / scale), 0), 255)
    return scale, zero_point


def fake_quantize(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """Round `x` to the grid and clamp it, with a straight-through gradient."""
    if not scale > 0:
        raise ValueError("scale must be positive")
    if not 0 <= zero_point <= 255:
        raise ValueError("zero_point must lie in 0..255")
    codes = (x.detach() / scale).round() + zero_point
    inside = (codes >= 0) & (codes <= 255)
    value = (codes.clamp(0, 255) - zero_point) * scale
    # Forward: value. Backward: the identity inside, nothing outside.
    through = torch.where(inside, x, x.detach())
    return value.to(x.dtype) + (through - through.detach())
