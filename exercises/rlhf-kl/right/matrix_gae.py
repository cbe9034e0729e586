import torch


def _validate(mask, tensors):
    if mask.dtype != torch.bool or not all(t.size() == mask.size() for t in tensors):
        raise ValueError("mask must be bool, and all tensors must have its shape")


def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _validate(mask, [logprobs, ref_logprobs])
    if scores.shape != (mask.shape[0],) or kl_coef < 0:
        raise ValueError("scores or kl_coef")
    lp, ref = logprobs.detach(), ref_logprobs.detach()
    rewards = torch.zeros_like(lp)
    rewards[mask] = -kl_coef * (lp[mask] - ref[mask])
    length = mask.shape[1]
    last = length - 1 - mask.flip(1).int().argmax(1)
    chosen = torch.nn.functional.one_hot(last, length).bool() & mask
    rewards[chosen] += scores.detach()[mask.any(1)]
    return rewards


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    _validate(mask, [rewards, values])
    for number in (gamma, lam):
        if number < 0 or number > 1:
            raise ValueError("out of [0, 1]")
    advantages = torch.zeros_like(values, requires_grad=False)
    returns = torch.zeros_like(values, requires_grad=False)
    for row, on in enumerate(mask):
        r, v = rewards.detach()[row][on].double(), values.detach()[row][on].double()
        n = len(r)
        if n:
            delta = r - v
            delta[:-1] += gamma * v[1:]
            steps = torch.arange(n, device=v.device)
            distance = steps[None, :] - steps[:, None]
            weight = torch.where(distance >= 0, float(gamma * lam) ** distance.clamp(min=0).double(), 0.0)
            a = weight @ delta
            advantages[row, on] = a.to(values.dtype)
            returns[row, on] = (a + v).to(values.dtype)
    return advantages, returns


class _Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, new, old, gain, eps):
        ratio = torch.exp(new - old)
        plain, clipped = ratio * gain, ratio.clamp(1 - eps, 1 + eps) * gain
        ctx.save_for_backward(torch.where(plain <= clipped, -plain, 0.0) / new.numel())
        return -torch.minimum(plain, clipped).mean()

    @staticmethod
    def backward(ctx, grad):
        (local,) = ctx.saved_tensors
        return grad * local, None, None, None


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _validate(mask, [logprobs, old_logprobs, advantages])
    if clip_eps <= 0:
        raise ValueError("clip_eps must be positive")
    if not mask.any():
        return logprobs[mask].sum()
    return _Clipped.apply(logprobs[mask], old_logprobs[mask].detach(), advantages[mask].detach(), clip_eps)
