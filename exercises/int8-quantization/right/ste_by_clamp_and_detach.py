import torch


def quantize_per_channel(weight, axis=0):
    with torch.no_grad():
        if torch.isnan(weight).any() or torch.isinf(weight).any():
            raise ValueError("weight must be finite")
        axis = axis % weight.ndim
        others = [d for d in range(weight.ndim) if d != axis]
        peak = weight.abs()
        for d in others:
            peak = peak.amax(dim=d, keepdim=True)
        scale = peak.div(127.0).float()
        scale[scale == 0] = 1.0
        q = torch.clamp(torch.round(weight / scale), -127, 127).to(torch.int8)
        return q, scale.flatten()


def calibrate_affine(batches):
    low = high = None
    for batch in batches:
        if not bool(torch.isfinite(batch).all()):
            raise ValueError("inf or NaN in a batch")
        a, b = float(batch.min()), float(batch.max())
        low = a if low is None or a < low else low
        high = b if high is None or b > high else high
    if low is None:
        raise ValueError("no batches")
    low, high = min(low, 0.0), max(high, 0.0)
    if high == low:
        return 1.0, 0
    scale = (high - low) / 255.0
    return scale, int(max(0, min(255, round(-low / scale))))


def fake_quantize(x, scale, zero_point):
    if scale <= 0 or zero_point < 0 or zero_point > 255:
        raise ValueError("bad grid")
    y = x / scale
    r = y + (torch.round(y) - y).detach()
    return ((r + zero_point).clamp(0, 255) - zero_point) * scale
