"""Mixture of experts: top-k routing with capacity and two ways to balance the load.

Invariant: routing makes T * k assignments, each with a token, an expert and a weight. Everything that follows
(capacity, dispatch, combination, loads) is a computation on this list; only the weights carry a gradient to
the router.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def at_least_float32(x: Tensor) -> Tensor:
    """Half-precision values as float32, any other dtype unchanged."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def route(logits: Tensor, k: int, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(T, E) -> weights (T, k) that sum to 1, and the chosen experts (T, k)."""
    num_experts = logits.shape[-1]
    if not 1 <= k <= num_experts:
        raise ValueError(f"k must be from 1 to {num_experts}, got {k}")
    if bias is not None and bias.shape != (num_experts,):
        raise ValueError(f"bias must have shape ({num_experts},)")
    p = at_least_float32(logits).softmax(dim=-1)
    scores = p.detach()
    if bias is not None:
        scores = scores + bias.detach()
    chosen = scores.topk(k, dim=-1).indices
    weights = p.gather(-1, chosen)
    return weights / weights.sum(dim=-1, keepdim=True), chosen


def keep_mask(chosen: Tensor, num_experts: int, capacity: int) -> Tensor:
    """True for the first ``capacity`` assignments of each expert, first choices before second ones."""
    if capacity < 0:
        raise ValueError(f"capacity must not be negative, got {capacity}")
    tokens, k = chosen.shape
    queue = chosen.t().reshape(-1)
    one_hot = queue[:, None] == torch.arange(num_experts, device=chosen.device)
    place = one_hot.cumsum(dim=0).gather(1, queue[:, None])
    return (place <= capacity).reshape(k, tokens).t()


def moe_forward(
    x: Tensor,
    router: Tensor,
    experts: Sequence[Callable[[Tensor], Tensor]],
    k: int,
    capacity_factor: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """(..., d) -> (..., d): each token's weighted sum over its experts."""
    if capacity_factor is not None and capacity_factor <= 0:
        raise ValueError(f"capacity_factor must be positive, got {capacity_factor}")
    tokens = x.reshape(-1, x.shape[-1])
    logits = at_least_float32(tokens) @ at_least_float32(router).t()
    weights, chosen = route(logits, k, bias)
    kept = torch.ones_like(chosen, dtype=torch.bool)
    if capacity_factor is not None:
        capacity = math.ceil(capacity_factor * chosen.numel() / len(experts))
        kept = keep_mask(chosen, len(experts), capacity)
    out = torch.zeros_like(tokens, dtype=weights.dtype)
    for index, expert in enumerate(experts):
        token, column = torch.where((chosen == index) & kept)
        if len(token):
            rows = expert(tokens[token])
            out = out.index_add(0, token, weights[token, column, None] * rows)
    return out.to(x.dtype).reshape(x.shape)


def balance_loss(logits: Tensor, chosen: Tensor) -> Tensor:
    """Switch load-balancing loss: E times the sum of share times mean probability."""
    num_experts = logits.shape[-1]
    p = at_least_float32(logits).softmax(dim=-1)
    counts = torch.bincount(chosen.reshape(-1), minlength=num_experts)
    share = counts.to(p.dtype) / chosen.numel()
    return num_experts * (share * p.mean(dim=0)).sum()


def z_loss(logits: Tensor) -> Tensor:
    """Router z-loss: the mean of the squared logsumexp."""
    return at_least_float32(logits).logsumexp(dim=-1).square().mean()


def update_bias(bias: Tensor, chosen: Tensor, rate: float) -> Tensor:
    """Raise the bias of experts with less than the mean load by ``rate``, lower the others."""
    counts = torch.bincount(chosen.reshape(-1), minlength=bias.numel()).to(bias.dtype)
    return bias + rate * torch.sign(counts.mean() - counts)
