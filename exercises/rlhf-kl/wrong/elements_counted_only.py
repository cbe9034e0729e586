# fails: 12
# message: must be refused, not broadcast
import torch


def _check(mask, *tensors):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be bool")
    for t in tensors:
        if t.numel() != mask.numel():
            raise ValueError("shapes differ")


def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _check(mask, logprobs, ref_logprobs)
    if scores.shape != mask.shape[:1]:
        raise ValueError("scores")
    if kl_coef < 0:
        raise ValueError("kl_coef")
    with torch.no_grad():
        rewards = -kl_coef * (logprobs - ref_logprobs)
        count = mask.flip(1).cumsum(1).flip(1)
        last = mask & (count == 1)
        rewards = torch.where(last, rewards + scores[:, None], rewards)
        rewards = torch.where(mask, rewards, torch.zeros_like(rewards))
    return rewards.to(logprobs.dtype)


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    _check(mask, rewards, values)
    if not 0 <= gamma <= 1 or not 0 <= lam <= 1:
        raise ValueError("gamma, lam")
    rewards, values = rewards.detach(), values.detach()
    advantages = torch.zeros_like(values)
    v = torch.zeros_like(values[:, 0]) if values.shape[1] else None
    a = v
    for t in range(values.shape[1] - 1, -1, -1):
        m = mask[:, t]
        delta = rewards[:, t] + gamma * v - values[:, t]
        new = delta + gamma * lam * a
        a = torch.where(m, new, a)
        v = torch.where(m, values[:, t], v)
        advantages[:, t] = torch.where(m, new, torch.zeros_like(new))
    returns = torch.where(mask, advantages + values, torch.zeros_like(values))
    return advantages, returns


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _check(mask, logprobs, old_logprobs, advantages)
    if clip_eps <= 0:
        raise ValueError("clip_eps")
    zero = torch.zeros_like(logprobs)
    new = torch.where(mask, logprobs, zero)
    old = torch.where(mask, old_logprobs.detach(), zero)
    adv = torch.where(mask, advantages.detach(), zero)
    ratio = torch.exp(new - old)
    clipped = ratio.clamp(1 - clip_eps, 1 + clip_eps)
    gain = torch.minimum(ratio * adv, clipped * adv)
    n = mask.sum().clamp(min=1)
    return -gain.sum() / n
