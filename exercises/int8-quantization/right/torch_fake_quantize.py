import torch
from torch import Tensor


@torch.no_grad()
def quantize_per_channel(weight: Tensor, axis: int = 0):
    if not weight.isfinite().all():
        raise ValueError("inf or NaN in the weight")
    moved = torch.movedim(weight.double(), axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    scale = flat.abs().max(dim=0).values.clamp(min=1e-30) / 127
    q = torch.round(moved / scale)
    return torch.movedim(q, -1, axis).to(torch.int8), scale.float()


def calibrate_affine(batches):
    pairs = [torch.stack(torch.aminmax(b)).tolist() for b in batches]
    if not pairs:
        raise ValueError("nothing to calibrate with")
    flat = torch.tensor(pairs, dtype=torch.float64)
    if not flat.isfinite().all():
        raise ValueError("inf or NaN in a batch")
    low = flat[:, 0].min().clamp(max=0)
    high = flat[:, 1].max().clamp(min=0)
    if high - low == 0:
        return 1.0, 0
    scale = (high - low) / 255
    return scale.item(), int(torch.round(-low / scale).clamp(0, 255).item())


def fake_quantize(x: Tensor, scale: float, zero_point: int):
    if scale <= 0:
        raise ValueError("scale")
    if not (0 <= zero_point <= 255):
        raise ValueError("zero point")
    wide = x.float() if x.dtype != torch.float64 else x
    if wide.dtype == torch.float32:
        return torch.fake_quantize_per_tensor_affine(wide, scale, zero_point, 0, 255).to(x.dtype)
    codes = torch.round(wide / scale) + zero_point
    keep = (codes == codes.clamp(0, 255)).to(wide.dtype)
    value = (codes.clamp(0, 255) - zero_point) * scale
    return value.detach() + keep.detach() * (wide - wide.detach())
