"""Pair by pair: results are written into a new tensor, angles and rows come from loops."""

import torch


def rope_angles(positions, head_dim, base=10000.0):
    if positions.is_floating_point() or base <= 0 or head_dim <= 0 or head_dim % 2:
        raise ValueError("positions, base or head_dim")
    shape = (*positions.shape, head_dim // 2)
    cos, sin = (torch.empty(shape, dtype=torch.float32, device=positions.device) for _ in range(2))
    for i in range(head_dim // 2):
        angle = positions.to(torch.float64) * (base ** (-2.0 * i / head_dim))
        cos[..., i], sin[..., i] = angle.cos(), angle.sin()
    return cos, sin


def apply_rope(x, positions, base=10000.0, interleaved=False):
    n, heads, t, d = x.shape
    if list(positions.shape) not in ([t], [n, t]):
        raise ValueError("positions")
    cos, sin = rope_angles(positions, d, base)
    cos, sin = cos.expand(n, t, -1)[:, None], sin.expand(n, t, -1)[:, None]
    result = torch.zeros(x.shape, dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)
    for i in range(d // 2):
        first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + d // 2)
        a, b = x[..., first], x[..., second]
        result[..., first] = a * cos[..., i] - b * sin[..., i]
        result[..., second] = b * cos[..., i] + a * sin[..., i]
    return result.to(dtype=x.dtype)


def to_half_split(weight, n_heads):
    if n_heads < 1:
        raise ValueError("n_heads")
    size = weight.shape[0] // n_heads
    if size * n_heads != weight.shape[0] or size % 2 or size == 0:
        raise ValueError("weight")
    result = torch.empty_like(weight)
    for head in range(n_heads):
        for i in range(size // 2):
            result[head * size + i] = weight[head * size + 2 * i]
            result[head * size + size // 2 + i] = weight[head * size + 2 * i + 1]
    return result
