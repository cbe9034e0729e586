# fails: 7
# message: A clip_eps above 1 is valid
import torch
from torch import Tensor


def _fit(mask, *tensors):
    if mask.dtype != torch.bool:
        raise ValueError("mask")
    for t in tensors:
        if t.shape != mask.shape:
            raise ValueError("shape")


def _clean(mask, t):
    return torch.where(mask, t, torch.zeros((), dtype=t.dtype, device=t.device))


def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _fit(mask, logprobs, ref_logprobs)
    if scores.shape != mask.shape[:1] or kl_coef < 0:
        raise ValueError("scores or kl_coef")
    with torch.no_grad():
        kl = _clean(mask, logprobs) - _clean(mask, ref_logprobs)
        later = mask.flip(1).cumsum(1).flip(1)
        last = mask & (later == 1)
        rewards = -kl_coef * kl + torch.where(last, scores[:, None], torch.zeros_like(scores[:, None]))
        return torch.where(mask, rewards, torch.zeros_like(rewards)).to(logprobs.dtype)


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    _fit(mask, rewards, values)
    if not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise ValueError("gamma or lam")
    with torch.no_grad():
        r, v = _clean(mask, rewards), _clean(mask, values)
        carry_a = v.new_zeros(v.shape[0])
        carry_v = v.new_zeros(v.shape[0])
        columns = []
        for t in reversed(range(v.shape[1])):
            m = mask[:, t]
            a = r[:, t] + gamma * carry_v - v[:, t] + gamma * lam * carry_a
            columns.append(torch.where(m, a, torch.zeros_like(a)))
            carry_a = torch.where(m, a, carry_a)
            carry_v = torch.where(m, v[:, t], carry_v)
        adv = torch.stack(columns[::-1], 1) if columns else torch.zeros_like(v)
        adv = adv.to(values.dtype)
        return adv, _clean(mask, adv + v)


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _fit(mask, logprobs, old_logprobs, advantages)
    if not 0 < clip_eps < 1:
        raise ValueError("clip_eps")
    lp, old, adv = (
        _clean(mask, logprobs),
        _clean(mask, old_logprobs.detach()),
        _clean(mask, advantages.detach()),
    )
    ratio = (lp - old).exp()
    worse = torch.maximum(-adv * ratio, -adv * ratio.clamp(1 - clip_eps, 1 + clip_eps))
    return _clean(mask, worse).sum() / mask.sum().clamp(min=1)
