"""Pairs as complex numbers, multiplied by exp(i * angle)."""

import torch


def _angles(positions, head_dim, base):
    if head_dim <= 0 or head_dim % 2 != 0:
        raise ValueError("head_dim")
    if not base > 0:
        raise ValueError("base")
    if torch.is_floating_point(positions):
        raise ValueError("positions must be integers")
    powers = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32) / head_dim
    return positions.float()[..., None] * (1.0 / (base**powers))


def rope_angles(positions, head_dim, base=10000.0):
    turned = torch.polar(torch.ones((), device=positions.device), _angles(positions, head_dim, base))
    return turned.real, turned.imag


def apply_rope(x, positions, base=10000.0, interleaved=False):
    b, _, t, d = x.shape
    if positions.shape != (t,) and positions.shape != (b, t):
        raise ValueError("positions")
    angles = _angles(positions, d, base)
    angles = angles[None, None] if positions.ndim == 1 else angles[:, None]
    factor = torch.polar(torch.ones_like(angles), angles)
    pairs = x.float().unflatten(-1, (-1, 2) if interleaved else (2, -1))
    if not interleaved:
        pairs = pairs.transpose(-1, -2)
    result = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * factor)
    if not interleaved:
        result = result.transpose(-1, -2)
    return result.flatten(-2).type_as(x)


def to_half_split(weight, n_heads):
    rows = weight.size(0)
    if n_heads <= 0 or rows == 0 or rows % (2 * n_heads):
        raise ValueError("n_heads")
    return torch.cat([torch.cat([head[::2], head[1::2]]) for head in weight.chunk(n_heads)])
