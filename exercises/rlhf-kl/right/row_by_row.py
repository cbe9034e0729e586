import torch


def _same_shape(mask, *others):
    if mask.dtype is not torch.bool:
        raise ValueError("mask must be bool")
    for other in others:
        if tuple(other.shape) != tuple(mask.shape):
            raise ValueError(f"shape {tuple(other.shape)} does not match {tuple(mask.shape)}")


def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _same_shape(mask, logprobs, ref_logprobs)
    if scores.dim() != 1 or len(scores) != len(mask):
        raise ValueError("scores")
    if kl_coef < 0:
        raise ValueError("kl_coef")
    out = torch.zeros_like(logprobs.detach())
    for b in range(mask.shape[0]):
        index = mask[b].nonzero().flatten()
        if len(index) == 0:
            continue
        out[b, index] = -kl_coef * (logprobs.detach()[b, index] - ref_logprobs.detach()[b, index])
        out[b, index[-1]] += scores[b].detach()
    return out


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    _same_shape(mask, rewards, values)
    if not (0.0 <= gamma <= 1.0):
        raise ValueError("gamma")
    if not (0.0 <= lam <= 1.0):
        raise ValueError("lam")
    advantages, returns = torch.zeros_like(values).detach(), torch.zeros_like(values).detach()
    for b in range(mask.shape[0]):
        index = mask[b].nonzero().flatten().tolist()
        r, v = rewards[b].tolist(), values[b].tolist()
        carry = 0.0
        for k in range(len(index) - 1, -1, -1):
            t = index[k]
            following = v[index[k + 1]] if k + 1 < len(index) else 0.0
            carry = r[t] + gamma * following - v[t] + gamma * lam * carry
            advantages[b, t] = carry
            returns[b, t] = carry + v[t]
    return advantages, returns


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _same_shape(mask, logprobs, old_logprobs, advantages)
    if not clip_eps > 0:
        raise ValueError("clip_eps")
    total = torch.where(mask, logprobs, torch.zeros_like(logprobs)).sum() * 0.0
    for b, t in mask.nonzero().tolist():
        ratio = (logprobs[b, t] - old_logprobs[b, t].item()).exp()
        gain = advantages[b, t].item()
        # Past the end of the range on the useful side the objective is flat.
        if gain > 0 and ratio.item() > 1 + clip_eps:
            total = total - (1 + clip_eps) * gain
        elif gain < 0 and ratio.item() < 1 - clip_eps:
            total = total - (1 - clip_eps) * gain
        else:
            total = total - ratio * gain
    return total / max(mask.sum().item(), 1)
