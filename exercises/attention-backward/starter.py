"""Forward and backward of linear, LayerNorm and attention, without autograd.

A cache is a flat tuple, list or dict of tensors and plain values (numbers,
shapes, None). The forward fills it, the backward reads it.
"""

from typing import Any

from torch import Tensor


def linear_forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> tuple[Tensor, Any]:
    """y = x @ weight.T + bias.

    x (..., I), weight (O, I), bias (O,) or None. Returns y (..., O), cache.
    """
    raise NotImplementedError


def linear_backward(
    grad_out: Tensor,
    cache: Any,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of x, weight and bias (None without bias)."""
    raise NotImplementedError


def layer_norm_forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float = 1e-5,
) -> tuple[Tensor, Any]:
    """Normalize the last dimension, then apply weight and bias.

    x (..., D), weight and bias (D,). Returns y (..., D), cache.
    """
    raise NotImplementedError


def layer_norm_backward(
    grad_out: Tensor,
    cache: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, weight and bias."""
    raise NotImplementedError


def attention_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Any]:
    """softmax(scale * q @ k^T) @ v, with the softmax over the keys.

    q (B, H, S, D), k (B, H, T, D), v (B, H, T, E). The bool mask broadcasts
    to (B, H, S, T); True means "may attend". `scale` defaults to
    1 / sqrt(D). Returns the output (B, H, S, E), cache.
    """
    raise NotImplementedError


def attention_backward(
    grad_out: Tensor,
    cache: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v from grad_out (B, H, S, E)."""
    raise NotImplementedError
