"""Rotary position embedding."""

from torch import Tensor


def rope_angles(
    positions: Tensor,
    head_dim: int,
    base: float = 10000.0,
) -> tuple[Tensor, Tensor]:
    """cos and sin of position * base ** (-2 * i / head_dim).

    ``positions``: integers of any shape (...). Both results are float32 of
    shape (..., head_dim // 2).
    """
    raise NotImplementedError


def apply_rope(
    x: Tensor,
    positions: Tensor,
    base: float = 10000.0,
    interleaved: bool = False,
) -> Tensor:
    """Rotate each pair of features by its angle.

    ``x``: (B, H, T, head_dim). ``positions``: integers (T,) or (B, T).
    Pair i is made of the features i and i + head_dim / 2; with
    ``interleaved``, of 2 * i and 2 * i + 1. Same shape and dtype as x.
    """
    raise NotImplementedError


def to_half_split(weight: Tensor, n_heads: int) -> Tensor:
    """Reorder the rows of a projection from interleaved to half-split.

    ``weight``: (n_heads * head_dim, d_in), or a bias (n_heads * head_dim,).
    """
    raise NotImplementedError
