"""Works on the vector of True tokens only."""

import torch
import torch.nn.functional as F
from torch import Tensor


def group_advantages(rewards: Tensor, group_size: int, scale: bool = True, eps: float = 1e-4) -> Tensor:
    (B,) = rewards.shape
    if group_size <= 1 or B % group_size:
        raise ValueError(f"{B} rewards do not form groups of {group_size}")
    prompt = torch.arange(B, device=rewards.device) // group_size
    zeros = rewards.new_zeros(B // group_size)
    mean = zeros.index_add(0, prompt, rewards) / group_size
    centered = rewards - mean[prompt]
    if not scale:
        return centered
    var = zeros.index_add(0, prompt, centered.square()) / (group_size - 1)
    return centered / (var.sqrt()[prompt] + eps)


def token_logprobs(logits: Tensor, tokens: Tensor) -> Tensor:
    B, T, V = logits.shape
    nll = F.cross_entropy(logits[:, :-1].reshape(-1, V), tokens[:, 1:].reshape(-1), reduction="none")
    return -nll.view(B, T - 1)


def completion_mask(prompt_lengths: Tensor, lengths: Tensor, T: int) -> Tensor:
    index = torch.arange(T, device=lengths.device).expand(len(lengths), T)
    return ((index >= prompt_lengths.unsqueeze(1)) & ~(index >= lengths.unsqueeze(1)))[:, 1:]


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    log_ratio = logprobs - ref_logprobs
    return torch.exp(-log_ratio) + log_ratio - 1.0


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
    if mask.dtype is not torch.bool:
        raise ValueError("mask must be bool")
    B, S = mask.shape
    given = [logprobs, old_logprobs] + ([] if ref_logprobs is None else [ref_logprobs])
    if any(t.shape != (B, S) for t in given) or advantages.shape != (B,):
        raise ValueError("shapes")
    if not clip_eps > 0 or not beta >= 0:
        raise ValueError("clip_eps, beta")
    if beta and ref_logprobs is None:
        raise ValueError("ref_logprobs")

    row = torch.nonzero(mask)[:, 0]
    new, old, A = logprobs[mask], old_logprobs.detach()[mask], advantages.detach()[row]
    ratio = torch.exp(new - old)
    cost = torch.max(-A * ratio, -A * torch.clip(ratio, 1 - clip_eps, 1 + clip_eps))
    if beta:
        cost = cost + beta * kl_k3(new, ref_logprobs.detach()[mask])

    if aggregation == "sequence":
        per_row = cost.new_zeros(B).index_add(0, row, cost)
        return torch.mean(per_row / torch.bincount(row, minlength=B).clamp_min(1))
    if aggregation == "token":
        return cost.sum() / max(1, row.numel())
    if aggregation == "constant":
        if max_length is None or max_length < 1:
            raise ValueError("max_length")
        return cost.sum() / B / max_length
    raise ValueError(aggregation)
