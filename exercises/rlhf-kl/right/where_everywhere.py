import torch
from torch import Tensor


class ShapeError(ValueError):
    pass


def check(mask: Tensor, **tensors: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise ShapeError(f"mask is {mask.dtype}")
    for name, tensor in tensors.items():
        if tensor.shape != mask.shape:
            raise ShapeError(f"{name} has shape {tuple(tensor.shape)}")


@torch.no_grad()
def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    check(mask, logprobs=logprobs, ref_logprobs=ref_logprobs)
    if scores.ndim != 1 or scores.shape[0] != mask.shape[0]:
        raise ShapeError("scores must be (B,)")
    if kl_coef < 0:
        raise ValueError("kl_coef < 0")
    rewards = torch.where(mask, kl_coef * (ref_logprobs - logprobs), 0.0).to(logprobs.dtype)
    columns = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask, columns, -1).amax(dim=1)
    rows = (last >= 0).nonzero().squeeze(1)
    rewards[rows, last[rows]] += scores[rows].to(rewards.dtype)
    return rewards


@torch.no_grad()
def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    check(mask, rewards=rewards, values=values)
    if min(gamma, lam) < 0 or max(gamma, lam) > 1:
        raise ValueError("gamma and lam lie in [0, 1]")
    # Push the response tokens of each row to the left; what is behind them is zero.
    order = torch.argsort((~mask).to(torch.int8), dim=1, stable=True)
    packed_mask = mask.gather(1, order)
    r = torch.where(packed_mask, rewards.gather(1, order), 0.0)
    v = torch.where(packed_mask, values.gather(1, order), 0.0)
    delta = r + gamma * torch.nn.functional.pad(v[:, 1:], (0, 1)) - v
    packed = torch.zeros_like(v)
    running = v.new_zeros(len(v))
    for t in range(v.shape[1] - 1, -1, -1):
        running = delta[:, t] + gamma * lam * running
        packed[:, t] = running
    packed = packed * packed_mask
    advantages = torch.zeros_like(v).scatter(1, order, packed)
    returns = torch.zeros_like(v).scatter(1, order, torch.where(packed_mask, packed + v, 0.0))
    return advantages, returns


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    check(mask, logprobs=logprobs, old_logprobs=old_logprobs, advantages=advantages)
    if clip_eps <= 0:
        raise ValueError("clip_eps")
    zero = torch.zeros((), dtype=logprobs.dtype, device=logprobs.device)
    log_ratio = torch.where(mask, logprobs, zero) - torch.where(mask, old_logprobs.detach(), zero)
    gain = torch.where(mask, advantages.detach(), zero)
    ratio = torch.exp(log_ratio)
    losses = torch.max(-gain * ratio, -gain * torch.clamp(ratio, 1.0 - clip_eps, 1.0 + clip_eps))
    return losses.sum() / mask.sum().clamp(min=1)
