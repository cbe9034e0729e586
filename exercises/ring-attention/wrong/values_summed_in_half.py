# fails: 9
# message: The values are summed in
import math
import torch


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    dt = v.dtype
    if q.dtype in (torch.float16, torch.bfloat16):
        q, k = q.float(), k.float()
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        qpos = torch.arange(q.shape[-2], device=q.device) + q_start
        kpos = torch.arange(k.shape[-2], device=q.device) + k_start
        scores = scores.masked_fill(kpos[None, :] > qpos[:, None], float("-inf"))
    m = scores.amax(dim=-1, keepdim=True)
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m).detach()
    p = torch.exp(scores - m)
    s = p.sum(dim=-1, keepdim=True)
    empty = s == 0
    s1 = torch.where(empty, torch.ones_like(s), s)
    out = (p / s1).to(dt) @ v
    out = out.to(s1.dtype)
    lse = torch.where(empty, torch.full_like(s, float("-inf")), torch.log(s1) + m)
    return out, lse.squeeze(-1)


def merge(out_a, lse_a, out_b, lse_b):
    m = torch.maximum(lse_a, lse_b)
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m).detach()
    wa = torch.exp(lse_a - m)
    wb = torch.exp(lse_b - m)
    s = wa + wb
    empty = s == 0
    s1 = torch.where(empty, torch.ones_like(s), s)
    out = (out_a * wa[..., None] + out_b * wb[..., None]) / s1[..., None]
    lse = torch.where(empty, torch.full_like(s, float("-inf")), torch.log(s1) + m)
    return out, lse


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    out = None
    for k_start, k, v in kv_blocks:
        o, l = block_attention(q, k, v, causal=causal, q_start=q_start, k_start=k_start)
        if out is None:
            out, lse = o, l
        else:
            out, lse = merge(out, lse, o, l)
    if out is None:
        raise ValueError("no blocks")
    return out.to(q.dtype)
