"""Softmax by hand in float32 or wider, batched over samples and heads; masks multiply after the exponential too."""

import torch
import torch.nn.functional as F
from torch import nn


def check(condition, text):
    if not condition:
        raise ValueError(text)


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads=None):
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check(all(n >= 1 for n in (d_model, n_heads, n_kv_heads)), "sizes must be positive")
        check(d_model % n_heads == 0, "d_model must be a multiple of n_heads")
        check(n_heads % n_kv_heads == 0, "n_heads must be a multiple of n_kv_heads")
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        dim = d_model // n_heads
        self.k_proj, self.v_proj = (nn.Linear(d_model, n_kv_heads * dim, bias=False) for _ in range(2))
        self.q_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))

    def forward(self, x, pad_mask=None):
        batch, length, width = x.shape
        dim, repeat = width // self.n_heads, self.n_heads // self.n_kv_heads
        position = torch.arange(length, device=x.device)
        allowed = position[None, :, None] >= position[None, None, :]
        if pad_mask is not None:
            check(pad_mask.dtype == torch.bool, "pad_mask must be bool")
            check(pad_mask.shape == (batch, length), "pad_mask must be (B, T)")
            allowed = allowed.logical_and(pad_mask.logical_not().unsqueeze(1))
        allowed = allowed.expand(batch, -1, -1).repeat_interleave(self.n_heads, 0)

        def heads(weight, count):
            parts = F.linear(x, weight).unflatten(-1, (count, dim)).permute(0, 2, 1, 3)
            if count < self.n_heads:
                parts = parts[:, :, None].expand(-1, -1, repeat, -1, -1)
            return parts.reshape(batch * self.n_heads, length, dim)

        q = heads(self.q_proj.weight, self.n_heads)
        k = heads(self.k_proj.weight, self.n_kv_heads)
        v = heads(self.v_proj.weight, self.n_kv_heads)
        wide = torch.promote_types(x.dtype, torch.float32)
        scores = torch.bmm(q, k.transpose(1, 2)).to(wide).div(dim**0.5)
        scores = torch.where(allowed, scores, torch.full_like(scores, -1e30))
        top = scores.amax(-1, keepdim=True).detach()
        mass = (scores - top).exp() * allowed
        total = mass.sum(-1, keepdim=True)
        weights = mass / torch.where(total == 0, torch.ones_like(total), total)
        out = torch.bmm(weights.to(x.dtype), v).reshape(batch, self.n_heads, length, dim)
        return self.o_proj(torch.cat(list(out.unbind(1)), dim=-1))
