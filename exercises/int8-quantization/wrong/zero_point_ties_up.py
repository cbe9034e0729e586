# fails: 13
# message: even zero point
import math

import torch


def quantize_per_channel(weight, axis=0):
    w = weight.detach()
    if not torch.isfinite(w).all():
        raise ValueError("weight must be finite")
    w = w.movedim(axis, 0).float()
    c = w.shape[0]
    peak = w.reshape(c, -1).abs().max(dim=1).values
    scale = peak / 127
    scale = torch.where(peak == 0, torch.ones_like(scale), scale)
    q = torch.round(w / scale.view(-1, *[1] * (w.dim() - 1))).clamp(-127, 127).to(torch.int8)
    return q.movedim(0, axis).contiguous(), scale


def calibrate_affine(batches):
    low, high = 0.0, 0.0
    seen = False
    for b in batches:
        seen = True
        if not torch.isfinite(b).all():
            raise ValueError("batch must be finite")
        low = min(low, b.min().item())
        high = max(high, b.max().item())
    if not seen:
        raise ValueError("no batches")
    if high == low:
        return 1.0, 0
    scale = (high - low) / 255
    return scale, max(0, min(255, int(-low / scale + 0.5)))


def fake_quantize(x, scale, zero_point):
    if scale <= 0:
        raise ValueError("scale")
    if zero_point < 0 or zero_point > 255:
        raise ValueError("zero_point")
    code = torch.round(x / scale) + zero_point
    inside = (code >= 0) & (code <= 255)
    y = ((code.clamp(0, 255) - zero_point) * scale).detach()
    return y + torch.where(inside, x - x.detach(), torch.zeros_like(x))
