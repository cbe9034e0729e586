# fails: 13
# message: whatever that of scores is
import torch


def _check(mask, *tensors):
    if mask.dtype != torch.bool:
        raise ValueError("mask must be bool")
    for t in tensors:
        if t.shape != mask.shape:
            raise ValueError("shape differs from the mask")


def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _check(mask, logprobs, ref_logprobs)
    if kl_coef < 0:
        raise ValueError("kl_coef")
    if scores.shape != (mask.shape[0],):
        raise ValueError("scores")
    B, T = mask.shape
    rewards = torch.zeros_like(logprobs, dtype=torch.promote_types(logprobs.dtype, scores.dtype)).detach()
    with torch.no_grad():
        for b in range(B):
            last = -1
            for t in range(T):
                if mask[b, t]:
                    rewards[b, t] = -kl_coef * (logprobs[b, t] - ref_logprobs[b, t])
                    last = t
            if last >= 0:
                rewards[b, last] += scores[b]
    return rewards


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    _check(mask, rewards, values)
    if not 0 <= gamma <= 1 or not 0 <= lam <= 1:
        raise ValueError("gamma, lam")
    B, T = mask.shape
    adv = torch.zeros_like(values).detach()
    ret = torch.zeros_like(values).detach()
    with torch.no_grad():
        for b in range(B):
            next_v = 0.0
            next_a = 0.0
            for t in reversed(range(T)):
                if not mask[b, t]:
                    continue
                delta = rewards[b, t] + gamma * next_v - values[b, t]
                next_a = delta + gamma * lam * next_a
                next_v = values[b, t]
                adv[b, t] = next_a
                ret[b, t] = next_a + values[b, t]
    return adv, ret


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _check(mask, logprobs, old_logprobs, advantages)
    if clip_eps <= 0:
        raise ValueError("clip_eps")
    lp = logprobs[mask]
    old = old_logprobs.detach()[mask]
    a = advantages.detach()[mask]
    if lp.numel() == 0:
        return lp.sum()
    ratio = torch.exp(lp - old)
    return -torch.minimum(ratio * a, torch.clamp(ratio, 1 - clip_eps, 1 + clip_eps) * a).mean()
