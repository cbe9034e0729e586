"""The usual rotate_half, with an index for the rows and a permutation for the interleaved convention."""

import math

import torch
from torch import Tensor


def rope_angles(positions: Tensor, head_dim: int, base: float = 10000.0):
    if head_dim < 2 or head_dim & 1:
        raise ValueError(f"head_dim {head_dim} is not a positive even number")
    if base <= 0.0:
        raise ValueError("base must be positive")
    if positions.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise ValueError("positions are integers")
    inverse = torch.tensor(
        [math.exp(-2 * i / head_dim * math.log(base)) for i in range(head_dim // 2)], device=positions.device
    )
    angles = positions.to(torch.float32).unsqueeze(-1) * inverse
    return torch.cos(angles), torch.sin(angles)


def rotate_half(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat([-b, a], dim=-1)


def order(head_dim, device):
    return torch.cat(
        [torch.arange(0, head_dim, 2, device=device), torch.arange(1, head_dim, 2, device=device)]
    )


def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0, interleaved: bool = False) -> Tensor:
    if positions.dim() not in (1, 2) or positions.shape[-1] != x.shape[-2]:
        raise ValueError("positions do not fit x")
    if positions.dim() == 2 and positions.shape[0] != x.shape[0]:
        raise ValueError("positions do not fit the batch")
    d = x.shape[-1]
    cos, sin = rope_angles(positions, d, base)
    cos, sin = (torch.cat([v, v], dim=-1).to(torch.promote_types(x.dtype, torch.float32)) for v in (cos, sin))
    if positions.dim() == 2:
        cos, sin = cos[:, None], sin[:, None]
    y = x.to(cos.dtype)
    if interleaved:
        index = order(d, x.device)
        y = y.index_select(-1, index)
        y = (y * cos + rotate_half(y) * sin).index_select(-1, index.argsort())
    else:
        y = y * cos + rotate_half(y) * sin
    return y.to(x.dtype)


def to_half_split(weight: Tensor, n_heads: int) -> Tensor:
    if n_heads < 1 or weight.shape[0] % n_heads or (weight.shape[0] // n_heads) % 2 or not weight.shape[0]:
        raise ValueError("rows do not divide into heads of even size")
    d = weight.shape[0] // n_heads
    index = (torch.arange(n_heads, device=weight.device)[:, None] * d + order(d, weight.device)).flatten()
    return weight[index]
