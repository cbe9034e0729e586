# fails: 1
# message: lacks the maximum
"""Ring attention building blocks."""

import math
from typing import Iterable, Optional, Tuple

import torch
from torch import Tensor


def _compute_dtype(t: Tensor) -> torch.dtype:
    return torch.float64 if t.dtype == torch.float64 else torch.float32


def block_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, q_start: int = 0, k_start: int = 0
) -> Tuple[Tensor, Tensor]:
    dtype = _compute_dtype(q)
    qf, kf, vf = q.to(dtype), k.to(dtype), v.to(dtype)
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = torch.matmul(qf, kf.transpose(-2, -1)) * scale

    if causal:
        q_pos = torch.arange(q_start, q_start + q.shape[-2], device=q.device)
        k_pos = torch.arange(k_start, k_start + k.shape[-2], device=q.device)
        mask = k_pos.unsqueeze(0) > q_pos.unsqueeze(1)
        scores = scores.masked_fill(mask, float("-inf"))

    row_max = scores.max(dim=-1, keepdim=True).values
    safe_max = torch.where(torch.isinf(row_max), torch.zeros_like(row_max), row_max)
    exp_scores = torch.exp(scores - safe_max)
    denom = exp_scores.sum(dim=-1, keepdim=True)
    safe_denom = torch.where(denom > 0, denom, torch.ones_like(denom))
    out = torch.matmul(exp_scores, vf) / safe_denom
    lse = torch.where(denom > 0, torch.log(safe_denom), torch.full_like(denom, float("-inf"))).squeeze(-1)
    return out, lse


def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Tuple[Tensor, Tensor]:
    dtype = _compute_dtype(out_a)
    out_a, out_b = out_a.to(dtype), out_b.to(dtype)
    lse_a, lse_b = lse_a.to(dtype), lse_b.to(dtype)
    max_lse = torch.maximum(lse_a, lse_b)
    safe_max = torch.where(torch.isinf(max_lse), torch.zeros_like(max_lse), max_lse)
    w_a = torch.exp(lse_a - safe_max)
    w_b = torch.exp(lse_b - safe_max)
    total = w_a + w_b
    safe_total = torch.where(total > 0, total, torch.ones_like(total))
    out = (w_a / safe_total).unsqueeze(-1) * out_a + (w_b / safe_total).unsqueeze(-1) * out_b
    lse = torch.where(total > 0, safe_max + torch.log(safe_total), torch.full_like(total, float("-inf")))
    return out, lse


def ring_attention(
    q: Tensor, kv_blocks: Iterable[Tuple[int, Tensor, Tensor]], *, causal: bool = False, q_start: int = 0
) -> Tensor:
    out: Optional[Tensor] = None
    lse: Optional[Tensor] = None
    for k_start, k, v in kv_blocks:
        block_out, block_lse = block_attention(q, k, v, causal=causal, q_start=q_start, k_start=k_start)
        if out is None:
            out, lse = block_out, block_lse
        else:
            out, lse = merge(out, lse, block_out, block_lse)
    if out is None:
        raise ValueError("kv_blocks must contain at least one block")
    return out.to(dtype=q.dtype)
