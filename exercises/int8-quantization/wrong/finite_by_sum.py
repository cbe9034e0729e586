# fails: 9
# message: test the elements, not their sum
import torch
from torch import Tensor


def _check(t: Tensor) -> None:
    if not bool(torch.isfinite(t.sum())):
        raise ValueError("inf or NaN")


def quantize_per_channel(weight, axis=0):
    w = weight.detach()
    _check(w)
    rows = w.movedim(axis, 0).flatten(1) if w.dim() > 1 else w.unsqueeze(1)
    rows = rows.double()
    top = rows.abs().amax(dim=1) if rows.shape[1] else rows.new_zeros(rows.shape[0])
    scale = torch.where(top > 0, top / 127, torch.ones_like(top))
    codes = torch.round(rows / scale.unsqueeze(1)).clamp(-127, 127).to(torch.int8)
    moved = w.movedim(axis, 0)
    q = codes.reshape(moved.shape).movedim(0, axis)
    return q, scale.float()


def calibrate_affine(batches):
    lo = hi = 0.0
    seen = False
    for b in batches:
        seen = True
        _check(b)
        if b.numel():
            lo = min(lo, b.min().item())
            hi = max(hi, b.max().item())
    if not seen:
        raise ValueError("no batches")
    if lo == hi:
        return 1.0, 0
    scale = (hi - lo) / 255
    return scale, max(0, min(255, round(-lo / scale)))


class _Fake(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zp):
        codes = torch.round(x.double() / scale) + zp
        ctx.save_for_backward((codes >= 0) & (codes <= 255))
        return ((codes.clamp(0, 255) - zp) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (keep,) = ctx.saved_tensors
        return torch.where(keep, g, torch.zeros_like(g)), None, None


def fake_quantize(x, scale, zero_point):
    if not scale > 0:
        raise ValueError("scale")
    if zero_point < 0 or zero_point > 255:
        raise ValueError("zero point")
    return _Fake.apply(x, scale, zero_point)
