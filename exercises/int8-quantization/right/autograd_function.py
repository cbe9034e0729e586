import numpy as np
import torch


class _Grid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point):
        code = torch.round(x.double() / scale) + zero_point
        ctx.save_for_backward(torch.logical_and(code >= 0, code <= 255))
        return ((torch.clamp(code, 0, 255) - zero_point) * scale).type_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output.masked_fill(~inside, 0.0), None, None


class BadRange(ValueError):
    pass


def fake_quantize(x, scale, zero_point):
    if not scale > 0:
        raise BadRange(f"scale {scale}")
    if zero_point not in range(256):
        raise BadRange(f"zero point {zero_point}")
    return _Grid.apply(x, scale, zero_point)


def calibrate_affine(batches):
    values = [batch.detach().cpu().double().numpy().ravel() for batch in batches]
    if not values:
        raise BadRange("no batches")
    data = np.concatenate(values)
    if not np.isfinite(data).all():
        raise BadRange("inf or NaN")
    low, high = min(data.min(), 0.0), max(data.max(), 0.0)
    if low == high:
        return 1.0, 0
    scale = (high - low) / 255
    return float(scale), int(np.clip(np.rint(-low / scale), 0, 255))


def quantize_per_channel(weight, axis=0):
    array = weight.detach().cpu().double().numpy()
    if not np.isfinite(array).all():
        raise BadRange("inf or NaN")
    axes = tuple(d for d in range(array.ndim) if d != axis % array.ndim)
    top = np.abs(array).max(axis=axes, keepdims=True)
    scale = np.where(top > 0, top / 127, 1.0)
    q = np.rint(array / scale).clip(-127, 127).astype(np.int8)
    return (
        torch.from_numpy(q).to(weight.device),
        torch.from_numpy(scale.astype(np.float32).reshape(-1)).to(weight.device),
    )
