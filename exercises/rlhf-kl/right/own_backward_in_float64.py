import torch


class _Surrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logprobs, old, adv, mask, eps):
        ratio = torch.where(mask, logprobs - old, torch.zeros_like(logprobs)).double().exp()
        a = torch.where(mask, adv, torch.zeros_like(adv)).double()
        n = max(int(mask.sum()), 1)
        capped = ((a > 0) & (ratio > 1 + eps)) | ((a < 0) & (ratio < 1 - eps))
        value = torch.where(capped, torch.where(a > 0, 1 + eps, 1 - eps) * a, ratio * a)
        ctx.save_for_backward(
            torch.where(capped | ~mask, torch.zeros_like(a), -ratio * a / n).to(logprobs.dtype)
        )
        return (-value.sum() / n).to(logprobs.dtype)

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        return g * d, None, None, None, None


def _same(mask, *ts):
    if mask.dtype != torch.bool:
        raise ValueError("bool mask")
    for t in ts:
        if tuple(t.shape) != tuple(mask.shape):
            raise ValueError("shape")


@torch.no_grad()
def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _same(mask, logprobs, ref_logprobs)
    if tuple(scores.shape) != (mask.shape[0],) or kl_coef < 0:
        raise ValueError("scores or kl_coef")
    d = logprobs.double() - ref_logprobs.double()
    out = torch.zeros_like(d)
    for b, row in enumerate(mask.tolist()):
        where = [t for t, m in enumerate(row) if m]
        for t in where:
            out[b, t] = -kl_coef * d[b, t]
        if where:
            out[b, where[-1]] += scores[b].double()
    return out.to(logprobs.dtype)


@torch.no_grad()
def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    """Lambda-return recursion: G_t = r_t + gamma ((1 - lam) V_{t+1} + lam G_{t+1})."""
    _same(mask, rewards, values)
    if not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise ValueError("gamma or lam")
    B, T = mask.shape
    adv = torch.zeros_like(values)
    ret = torch.zeros_like(values)
    for b in range(B):

        def walk(t):
            if t == T:
                return 0.0, 0.0
            nv, ng = walk(t + 1)
            if not bool(mask[b, t]):
                return nv, ng
            v = float(values[b, t])
            g = float(rewards[b, t]) + gamma * ((1 - lam) * nv + lam * ng)
            adv[b, t] = g - v
            ret[b, t] = g
            return v, g

        walk(0)
    return adv, ret


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _same(mask, logprobs, old_logprobs, advantages)
    if not clip_eps > 0:
        raise ValueError("clip_eps")
    return _Surrogate.apply(logprobs, old_logprobs.detach(), advantages.detach(), mask, clip_eps)
