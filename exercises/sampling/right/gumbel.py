"""Draws with the Gumbel trick, and keeps the nucleus by its smallest logit."""

import torch


def _validate(temperature, top_k, top_p):
    if not temperature >= 0:
        raise ValueError(f"temperature={temperature}")
    if top_k is not None and top_k <= 0:
        raise ValueError(f"top_k={top_k}")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError(f"top_p={top_p}")


def filter_logits(logits, temperature=1.0, top_k=None, top_p=None):
    _validate(temperature, top_k, top_p)
    minus = torch.tensor(float("-inf"), dtype=logits.dtype, device=logits.device)
    x = logits.double()
    if temperature == 0:
        return torch.where(x == x.amax(-1, keepdim=True), logits, minus)
    keep = torch.ones_like(logits, dtype=torch.bool)
    if top_k is not None:
        top = x.topk(min(top_k, x.size(-1)), dim=-1).values
        keep &= x >= top[..., [-1]]
    x = x / temperature
    if top_p not in (None, 1, 1.0):
        y = x.masked_fill(~keep, float("-inf"))
        values, _ = y.sort(dim=-1, descending=True)
        sums = values.softmax(-1).cumsum(-1)
        count = (sums < top_p).sum(-1, keepdim=True).clamp(max=x.size(-1) - 1)
        keep &= y >= values.gather(-1, count)
    return torch.where(keep, x.to(logits.dtype), minus)


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if torch.isnan(logits).any() or (logits == float("inf")).any():
        raise ValueError("NaN or inf")
    if (logits == float("-inf")).all(dim=-1).any():
        raise ValueError("nothing to sample")
    x = filter_logits(logits, temperature, top_k, top_p).double()
    if temperature > 0:
        u = torch.rand(x.shape, dtype=x.dtype, device=x.device, generator=generator)
        x = x - torch.log(-torch.log(u.clamp(1e-300, 1 - 1e-16)))
    return x.max(dim=-1).indices


def generate(step, tokens, n_new, *, eos_id=None, temperature=1.0, top_k=None, top_p=None, generator=None):
    if n_new < 0:
        raise ValueError("n_new")
    B, T = tokens.shape
    out = torch.empty(B, T + n_new, dtype=torch.int64, device=tokens.device)
    out[:, :T] = tokens
    alive = torch.ones(B, dtype=torch.bool, device=tokens.device)
    end = T
    while end < T + n_new:
        new = sample(step(out[:, :end])[:, -1, :], temperature, top_k, top_p, generator)
        if eos_id is not None:
            new = torch.where(alive, new, torch.full_like(new, eos_id))
            alive = alive & new.ne(eos_id)
        out[:, end] = new
        end += 1
        if not bool(alive.any()):
            break
    return out[:, :end]
