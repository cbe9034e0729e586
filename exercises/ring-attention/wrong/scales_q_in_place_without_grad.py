# fails: 10
# message: q was modified
import math
import torch


def wide(t):
    return t.float() if t.dtype in (torch.float16, torch.bfloat16) else t


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    q, k, v = wide(q), wide(k), wide(v)
    q = q.mul_(q.shape[-1] ** -0.5) if not torch.is_grad_enabled() else q * q.shape[-1] ** -0.5
    scores = q @ k.transpose(-1, -2)
    if causal:
        rows = torch.arange(q.shape[-2], device=q.device) + q_start
        cols = torch.arange(k.shape[-2], device=q.device) + k_start
        hidden = cols[None, :] > rows[:, None]
        scores = scores.masked_fill(hidden, -torch.inf)
    top = scores.detach().amax(-1, keepdim=True)
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    p = torch.exp(scores - top)
    total = p.sum(-1, keepdim=True)
    seen = total > 0
    safe = torch.where(seen, total, torch.ones_like(total))
    out = p @ v / safe
    lse = torch.where(seen, safe.log() + top, torch.full_like(safe, -torch.inf)).squeeze(-1)
    return out, lse


def merge(out_a, lse_a, out_b, lse_b):
    out_a, lse_a, out_b, lse_b = wide(out_a), wide(lse_a), wide(out_b), wide(lse_b)
    top = torch.maximum(lse_a, lse_b).detach()
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    wa, wb = torch.exp(lse_a - top), torch.exp(lse_b - top)
    total = wa + wb
    seen = total > 0
    safe = torch.where(seen, total, torch.ones_like(total))
    out = out_a * (wa / safe)[..., None] + out_b * (wb / safe)[..., None]
    return out, torch.where(seen, safe.log() + top, torch.full_like(safe, -torch.inf))


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    out = lse = None
    for k_start, k, v in kv_blocks:
        new = block_attention(q, k, v, causal=causal, q_start=q_start, k_start=k_start)
        out, lse = new if out is None else merge(out, lse, *new)
        del k, v, new
    if out is None:
        raise ValueError("no blocks")
    return out.to(q.dtype)
