# fails: 7
# message: of this token
"""Masked positions are taken out by selection before any arithmetic, so that neither values nor
gradients can meet a NaN there. The recursion keeps two carried values per row: O(T) steps on (B,).
"""

import torch
from torch import Tensor


def _check(mask: Tensor, *tensors: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise ValueError("mask must be a bool tensor")
    if any(tensor.shape != mask.shape for tensor in tensors):
        raise ValueError("all tensors must have the shape of the mask")


def kl_rewards(
    logprobs: Tensor, ref_logprobs: Tensor, scores: Tensor, mask: Tensor, kl_coef: float = 0.1
) -> Tensor:
    """Per-token rewards (B, T): the KL penalty, and the score at each row's last response token."""
    _check(mask, logprobs, ref_logprobs)
    if scores.shape != mask.shape[:1]:
        raise ValueError("scores must have shape (B,)")
    if kl_coef < 0:
        raise ValueError("kl_coef must not be negative")
    with torch.no_grad():
        rewards = (-kl_coef * (logprobs - ref_logprobs)).masked_fill(~mask, 0.0)
        left = mask.flip(1).cumsum(1).flip(1)
        last = mask & (left == 1)
        return rewards + scores[:, None].to(rewards.dtype).expand_as(rewards).masked_fill(~last, 0.0)


def gae(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 0.95
) -> tuple[Tensor, Tensor]:
    """Advantages and returns (B, T), counting response tokens only."""
    _check(mask, rewards, values)
    if not 0 <= gamma <= 1 or not 0 <= lam <= 1:
        raise ValueError("gamma and lam must lie in [0, 1]")
    with torch.no_grad():
        advantages = torch.zeros_like(values)
        next_value = torch.zeros_like(values[:, 0])
        next_advantage = torch.zeros_like(next_value)
        for t in reversed(range(mask.shape[1])):
            here = mask[:, t]
            delta = rewards[:, t] + gamma * next_value - values[:, t]
            next_advantage = torch.where(here, delta + gamma * lam * next_advantage, next_advantage)
            next_value = torch.where(here, values[:, t], next_value)
            advantages[:, t] = torch.where(here, next_advantage, 0.0)
        returns = advantages + values.masked_fill(~mask, 0.0)
    return advantages, returns


def ppo_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, clip_eps: float = 0.2
) -> Tensor:
    """The clipped policy loss over all response tokens, a scalar to be minimised."""
    _check(mask, logprobs, old_logprobs, advantages)
    if clip_eps <= 0:
        raise ValueError("clip_eps must be positive")
    ratio = (logprobs[mask] - old_logprobs.detach()[mask]).exp()
    gain = advantages.detach()[mask]
    objective = torch.minimum(ratio * gain, ratio.clamp(1 - clip_eps, 1 + clip_eps) * gain)
    return -objective.sum() / max(len(gain), 2)
