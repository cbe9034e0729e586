# fails: 5
# message: subtracts its own maximum
import math
import torch


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    if q.dtype in (torch.float16, torch.bfloat16):
        q, k, v = q.float(), k.float(), v.float()
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        qpos = torch.arange(q.shape[-2], device=q.device) + q_start
        kpos = torch.arange(k.shape[-2], device=q.device) + k_start
        scores = scores.masked_fill(kpos[None, :] > qpos[:, None], float("-inf"))
    m = (
        scores.masked_fill(torch.isinf(scores), float("nan"))
        .nan_to_num(nan=-1e30)
        .amax()
        .expand(*scores.shape[:-1], 1)
    )
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m).detach()
    p = torch.exp(scores - m)
    s = p.sum(dim=-1, keepdim=True)
    empty = s == 0
    s1 = torch.where(empty, torch.ones_like(s), s)
    out = p @ v / s1
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
