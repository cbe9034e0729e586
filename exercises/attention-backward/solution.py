"""Forward and backward of a linear layer, LayerNorm and attention, without autograd."""

import math
from typing import Any

import torch
from torch import Tensor


def check_grad(grad_out: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a gradient that would only broadcast to the output."""
    if tuple(grad_out.shape) != tuple(shape):
        raise ValueError(f"grad_out must have the shape {tuple(shape)}, got {tuple(grad_out.shape)}")


@torch.no_grad()
def linear_forward(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Any]:
    """y = x W^T + b for x (..., I) and weight (O, I)."""
    if weight.dim() != 2 or x.shape[-1:] != weight.shape[1:]:
        raise ValueError(f"x {tuple(x.shape)} and weight {tuple(weight.shape)} do not fit")
    y = x @ weight.T
    if bias is not None:
        y = y + bias
    return y, (x, weight, bias is not None)


@torch.no_grad()
def linear_backward(grad_out: Tensor, cache: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of x, weight and bias; every position contributes to the last two."""
    x, weight, has_bias = cache
    check_grad(grad_out, (*x.shape[:-1], weight.shape[0]))
    grad_x = grad_out @ weight
    rows = grad_out.reshape(-1, weight.shape[0])
    grad_weight = rows.T @ x.reshape(-1, weight.shape[1])
    grad_bias = rows.sum(0) if has_bias else None
    return grad_x, grad_weight, grad_bias


@torch.no_grad()
def layer_norm_forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, Any]:
    """Normalize the last dimension of x (..., D), then apply weight and bias."""
    if x.shape[-1:] != weight.shape:
        raise ValueError(f"x {tuple(x.shape)} and weight {tuple(weight.shape)} do not fit")
    centered = x - x.mean(-1, keepdim=True)
    rstd = torch.rsqrt(centered.square().mean(-1, keepdim=True) + eps)
    normalized = centered * rstd
    return normalized * weight + bias, (normalized, rstd, weight)


@torch.no_grad()
def layer_norm_backward(grad_out: Tensor, cache: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, weight and bias, with the paths of x through mean and variance."""
    normalized, rstd, weight = cache
    check_grad(grad_out, normalized.shape)
    leading = tuple(range(grad_out.dim() - 1))
    products = grad_out * normalized
    grad_weight = products.sum(leading) if leading else products
    grad_bias = grad_out.sum(leading) if leading else grad_out.clone()
    scaled = grad_out * weight
    through_mean = scaled.mean(-1, keepdim=True)
    through_variance = normalized * (scaled * normalized).mean(-1, keepdim=True)
    grad_x = rstd * (scaled - through_mean - through_variance)
    return grad_x, grad_weight, grad_bias


def probabilities(
    q: Tensor, k: Tensor, mask: Tensor | None, scale: float, lse: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Attention weights and each row's log-sum-exp, which is computed if it is not given.

    It is +inf for a row without keys, so that every weight of this row is exp(-inf) = 0.
    """
    scores = scale * (q @ k.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if lse is None:
        lse = torch.logsumexp(scores, dim=-1, keepdim=True)
        lse = lse.masked_fill(lse == -math.inf, math.inf)
    return torch.exp(scores - lse), lse


@torch.no_grad()
def attention_forward(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> tuple[Tensor, Any]:
    """softmax(scale * q k^T) v; `mask` is True where a query may attend."""
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k have head sizes {q.shape[-1]} and {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v have lengths {k.shape[-2]} and {v.shape[-2]}")
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(f"mask must be bool, got {mask.dtype}")
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    weights, lse = probabilities(q, k, mask, scale, None)
    out = weights @ v
    return out, (q, k, v, mask, scale, out, lse)


@torch.no_grad()
def attention_backward(grad_out: Tensor, cache: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v; the weights are recomputed from the log-sum-exp."""
    q, k, v, mask, scale, out, lse = cache
    check_grad(grad_out, out.shape)
    weights, _ = probabilities(q, k, mask, scale, lse)
    grad_v = weights.transpose(-2, -1) @ grad_out
    grad_weights = grad_out @ v.transpose(-2, -1)
    row_sum = (grad_out * out).sum(-1, keepdim=True)
    grad_scores = weights * (grad_weights - row_sum)
    grad_q = scale * (grad_scores @ k)
    grad_k = scale * (grad_scores.transpose(-2, -1) @ q)
    return grad_q, grad_k, grad_v
