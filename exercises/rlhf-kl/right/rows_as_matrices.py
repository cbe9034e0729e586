import torch


def _ok(cond, what):
    if not cond:
        raise ValueError(what)


def _same(mask, *ts):
    _ok(mask.dtype == torch.bool, "bool mask")
    _ok(all(t.shape == mask.shape for t in ts), "shapes")


def kl_rewards(logprobs, ref_logprobs, scores, mask, kl_coef=0.1):
    _same(mask, logprobs, ref_logprobs)
    _ok(scores.shape == mask.shape[:1], "scores")
    _ok(kl_coef >= 0, "kl_coef")
    out = torch.zeros_like(logprobs, requires_grad=False)
    rows, cols = mask.nonzero(as_tuple=True)
    lp, ref = logprobs.detach()[rows, cols].double(), ref_logprobs.detach()[rows, cols].double()
    r = kl_coef * (ref - lp)
    end = torch.ones_like(rows, dtype=torch.bool)
    end[:-1] = rows[1:] != rows[:-1]
    r = r + torch.where(end, scores.detach().double()[rows], 0.0)
    return out.index_put((rows, cols), r.to(out.dtype))


def gae(rewards, values, mask, gamma=1.0, lam=0.95):
    """Row by row with deleted columns; A = M delta, M upper triangular with powers of gamma lam."""
    _same(mask, rewards, values)
    _ok(0 <= gamma <= 1 and 0 <= lam <= 1, "gamma and lam")
    adv, ret = torch.zeros_like(values, requires_grad=False), torch.zeros_like(values, requires_grad=False)
    for b, m in enumerate(mask):
        r, v = rewards.detach()[b][m].double(), values.detach()[b][m].double()
        n = len(r)
        d = r - v
        d[:-1] += gamma * v[1:]
        gap = torch.arange(n, device=v.device)[None, :] - torch.arange(n, device=v.device)[:, None]
        mat = torch.where(
            gap >= 0, torch.tensor(gamma * lam, dtype=torch.float64, device=v.device) ** gap.clamp(min=0), 0.0
        )
        a = torch.einsum("ij,j->i", mat, d)
        adv[b, m] = a.to(adv.dtype)
        ret[b, m] = (a + v).to(ret.dtype)
    return adv, ret


def ppo_loss(logprobs, old_logprobs, advantages, mask, clip_eps=0.2):
    _same(mask, logprobs, old_logprobs, advantages)
    _ok(clip_eps > 0, "clip_eps")
    keep = mask.flatten().nonzero().squeeze(1)
    lp, old, a = (
        t.flatten().index_select(0, keep) for t in (logprobs, old_logprobs.detach(), advantages.detach())
    )
    # min(r A, clip(r) A) = A min(r, 1 + eps) for A >= 0 and A max(r, 1 - eps) for A < 0
    ratio = (lp - old).exp()
    bounded = torch.where(a >= 0, ratio.clamp(max=1 + clip_eps), ratio.clamp(min=1 - clip_eps))
    return -(bounded * a).sum() / max(1, keep.numel())
