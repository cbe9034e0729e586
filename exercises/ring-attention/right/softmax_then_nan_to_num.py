import math

import torch


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    """The NaN of a row without keys meets only masked scores on its way back, so no gradient sees it."""
    if q.dtype in (torch.float16, torch.bfloat16):
        q, k, v = q.float(), k.float(), v.float()
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        query = torch.arange(q_start, q_start + q.shape[-2], device=q.device)
        key = torch.arange(k_start, k_start + k.shape[-2], device=q.device)
        scores = scores.masked_fill(key > query[:, None], -math.inf)
    return torch.softmax(scores, -1).nan_to_num(0.0) @ v, torch.logsumexp(scores, -1)


def merge(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    safe = torch.where(lse == -math.inf, torch.zeros_like(lse), lse)
    return torch.exp(lse_a - safe)[..., None] * out_a + torch.exp(lse_b - safe)[..., None] * out_b, lse


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    out = lse = None
    for k_start, k, v in kv_blocks:
        o, s = block_attention(q, k, v, causal=causal, q_start=q_start, k_start=k_start)
        out, lse = (o, s) if out is None else merge(out, lse, o, s)
    if out is None:
        raise ValueError("empty kv_blocks")
    return out.to(q.dtype)
