# fails: 12
# message: no lower limit
import torch


def quantize_per_channel(weight, axis=0):
    w = weight.detach()
    if not torch.isfinite(w).all():
        raise ValueError("inf or NaN in the weight")
    rows = w.movedim(axis, 0)
    wide = rows.to(torch.promote_types(w.dtype, torch.float32))
    scale = wide.reshape(len(rows), -1).abs().amax(1).div(127).float()
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    q = (wide / scale.view(-1, *[1] * (w.dim() - 1))).round().clamp(-127, 127).to(torch.int8)
    return q.movedim(0, axis), scale


def calibrate_affine(batches):
    lo = hi = 0.0
    seen = False
    for x in batches:
        seen = True
        if not torch.isfinite(x).all():
            raise ValueError("inf or NaN in a batch")
        lo, hi = min(lo, x.min().item()), max(hi, x.max().item())
    if not seen:
        raise ValueError("no batches")
    if hi - lo < 1e-6:
        return 1.0, 0
    scale = (hi - lo) / 255
    return scale, min(255, max(0, round(-lo / scale)))


def fake_quantize(x, scale, zero_point):
    if scale <= 0 or not 0 <= zero_point <= 255:
        raise ValueError("scale or zero point")
    code = torch.round(x.detach() / scale) + zero_point
    value = ((code.clamp(0, 255) - zero_point) * scale).to(x.dtype)
    inside = (code >= 0) & (code <= 255)
    zero = torch.where(inside, x, x.detach())
    return value + (zero - zero.detach())
