"""Rotary position embedding.

Invariant: the score of a query at m and a key at n contains each pair as R(m a)^T R(n a) = R((n - m) a), so it depends
on n - m alone. Rotations keep norms, and position 0 is the identity.
"""

import torch
from torch import Tensor


def rope_angles(positions: Tensor, head_dim: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """cos and sin of position * base ** (-2 * i / head_dim), float32 of shape (..., head_dim // 2)."""
    if head_dim < 1 or head_dim % 2:
        raise ValueError("head_dim must be positive and even")
    if base <= 0:
        raise ValueError("base must be positive")
    if positions.is_floating_point():
        raise ValueError("positions must be integers")
    pairs = torch.arange(head_dim // 2, dtype=torch.float64, device=positions.device)
    angles = positions.unsqueeze(-1).double() * base ** (-2 * pairs / head_dim)
    return angles.cos().float(), angles.sin().float()


def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0, interleaved: bool = False) -> Tensor:
    """Rotate each pair of features of x (B, H, T, head_dim) by the angles of positions (T,) or (B, T)."""
    batch, _, length, head_dim = x.shape
    if tuple(positions.shape) not in ((length,), (batch, length)):
        raise ValueError(f"positions must have shape ({length},) or ({batch}, {length})")
    cos, sin = rope_angles(positions, head_dim, base)
    if positions.dim() == 2:  # an axis for the heads
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    wide = x if x.dtype == torch.float64 else x.float()
    if interleaved:
        a, b = wide[..., 0::2], wide[..., 1::2]
        rotated = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    else:
        a, b = wide.chunk(2, dim=-1)
        rotated = torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return rotated.to(x.dtype)


def to_half_split(weight: Tensor, n_heads: int) -> Tensor:
    """Reorder the rows of a projection from interleaved to half-split: within each head even rows, then odd rows."""
    if n_heads < 1:
        raise ValueError("n_heads must be at least 1")
    head_dim, rest = divmod(weight.shape[0], n_heads)
    if rest or head_dim < 1 or head_dim % 2:
        raise ValueError("the first dimension must be n_heads times an even number")
    pairs = weight.reshape(n_heads, head_dim // 2, 2, *weight.shape[1:])
    return pairs.transpose(1, 2).reshape(weight.shape).clone()
