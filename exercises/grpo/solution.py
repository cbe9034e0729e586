"""GRPO without a critic: the other completions of the same prompt are the baseline.

Masked positions are replaced before any arithmetic, so neither values nor gradients can meet a NaN there.
Every aggregation is one sum over the True tokens with its own divisor.
"""

import torch
from torch import Tensor


def group_advantages(rewards: Tensor, group_size: int, scale: bool = True, eps: float = 1e-4) -> Tensor:
    if group_size < 2 or rewards.numel() % group_size != 0:
        raise ValueError(f"group_size={group_size} must be at least 2 and divide {rewards.numel()} rewards")
    groups = rewards.view(-1, group_size)
    centered = groups - groups.mean(dim=1, keepdim=True)
    if scale:
        centered = centered / (groups.std(dim=1, keepdim=True) + eps)
    return centered.view(-1)


def token_logprobs(logits: Tensor, tokens: Tensor) -> Tensor:
    logprobs = logits[:, :-1].log_softmax(dim=-1)
    return logprobs.gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)


def completion_mask(prompt_lengths: Tensor, lengths: Tensor, T: int) -> Tensor:
    target = torch.arange(1, T, device=lengths.device)
    return (prompt_lengths[:, None] <= target) & (target < lengths[:, None])


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    d = ref_logprobs - logprobs
    return d.exp() - d - 1


def grpo_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_eps: float = 0.2,
    ref_logprobs: Tensor | None = None,
    beta: float = 0.0,
    aggregation: str = "sequence",
    max_length: int | None = None,
) -> Tensor:
    if aggregation not in ("sequence", "token", "constant"):
        raise ValueError(f"unknown aggregation {aggregation!r}")
    if aggregation == "constant" and (max_length is None or max_length < 1):
        raise ValueError("aggregation 'constant' needs max_length >= 1")
    if clip_eps <= 0:
        raise ValueError("clip_eps must be positive")
    if beta < 0:
        raise ValueError("beta must not be negative")
    if beta > 0 and ref_logprobs is None:
        raise ValueError("beta > 0 needs ref_logprobs")
    if mask.dtype != torch.bool:
        raise ValueError("mask must be a bool tensor")
    if logprobs.shape != mask.shape or old_logprobs.shape != mask.shape:
        raise ValueError("log-probabilities must have the shape of the mask")
    if ref_logprobs is not None and ref_logprobs.shape != mask.shape:
        raise ValueError("ref_logprobs must have the shape of the mask")
    if advantages.shape != mask.shape[:1]:
        raise ValueError("advantages must have one value per row")

    logprobs = logprobs.masked_fill(~mask, 0.0)
    old_logprobs = old_logprobs.detach().masked_fill(~mask, 0.0)
    A = advantages.detach()[:, None]

    ratio = (logprobs - old_logprobs).exp()
    clipped = ratio.clamp(1 - clip_eps, 1 + clip_eps)
    cost = -torch.minimum(ratio * A, clipped * A)
    if beta > 0:
        ref_logprobs = ref_logprobs.detach().masked_fill(~mask, 0.0)
        cost = cost + beta * kl_k3(logprobs, ref_logprobs)
    cost = cost.masked_fill(~mask, 0.0)

    if aggregation == "sequence":
        return (cost.sum(dim=1) / mask.sum(dim=1).clamp(min=1)).mean()
    if aggregation == "token":
        return cost.sum() / mask.sum().clamp(min=1)
    return cost.sum() / (mask.shape[0] * max_length)
