import math

import torch


def _mask(q, k, q_start, k_start):
    return torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device).tril(q_start - k_start)


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    s = torch.matmul(q.to(dtype), k.to(dtype).mT) * (1.0 / math.sqrt(q.size(-1)))
    keep = _mask(q, k, q_start, k_start) if causal else torch.ones_like(s, dtype=torch.bool)
    low = torch.finfo(dtype).min / 4
    m = s.masked_fill(~keep, low).max(dim=-1, keepdim=True).values.detach()
    p = torch.exp(s.masked_fill(~keep, low) - m) * keep
    total = p.sum(-1, keepdim=True)
    empty = total == 0
    out = torch.matmul(p, v.to(dtype)) / (total + empty.to(dtype))
    lse = (m + torch.log(total + empty.to(dtype))).squeeze(-1)
    return out, lse.masked_fill(empty.squeeze(-1), -math.inf)


def merge(out_a, lse_a, out_b, lse_b):
    lses = torch.stack([lse_a, lse_b])
    outs = torch.stack([out_a, out_b])
    top = lses.detach().amax(0)
    top = torch.nan_to_num(top, neginf=0.0)
    w = (lses - top).exp()
    total = w.sum(0)
    out = (w.unsqueeze(-1) * outs).sum(0) / total.clamp_min(torch.finfo(total.dtype).tiny).unsqueeze(-1)
    lse = torch.full_like(total, -math.inf)
    return out, torch.where(total > 0, top + total.clamp_min(torch.finfo(total.dtype).tiny).log(), lse)


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    """Start from nothing seen and skip blocks that lie wholly in the future."""
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    out = torch.zeros(q.shape, dtype=dtype, device=q.device)
    lse = torch.full(q.shape[:-1], -math.inf, dtype=dtype, device=q.device)
    count = 0
    for block in kv_blocks:
        count += 1
        if causal and block[0] > q_start + q.size(-2) - 1:
            out = out + 0.0 * q.sum()
            continue
        part = block_attention(q, block[1], block[2], causal=causal, q_start=q_start, k_start=block[0])
        out, lse = merge(out, lse, *part)
    if count == 0:
        raise ValueError("no blocks")
    return out.to(dtype=q.dtype, device=q.device)
