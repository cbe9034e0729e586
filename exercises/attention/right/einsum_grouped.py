"""Query heads in groups, without copies of keys and values; an additive mask; a mask that grows with T."""

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads=None):
        super().__init__()
        self.groups = n_heads if n_kv_heads is None else n_kv_heads
        for size in (d_model, n_heads, self.groups):
            if size <= 0:
                raise ValueError(size)
        if d_model % n_heads:
            raise ValueError("d_model")
        if n_heads % self.groups:
            raise ValueError("n_kv_heads")
        self.n_heads, self.head_dim = n_heads, d_model // n_heads
        names = {"q_proj": n_heads, "k_proj": self.groups, "v_proj": self.groups}
        for name, count in names.items():
            self.add_module(name, nn.Linear(d_model, count * self.head_dim, bias=False))
        self.o_proj = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("future", torch.ones(8, 8, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x, pad_mask=None):
        b, t, _ = x.shape
        if t > self.future.shape[0]:
            self.future = torch.ones(2 * t, 2 * t, dtype=torch.bool, device=x.device).triu(1)
        hidden = self.future[:t, :t].expand(b, t, t)
        if pad_mask is not None:
            if pad_mask.dtype != torch.bool or tuple(pad_mask.shape) != (b, t):
                raise ValueError("pad_mask")
            hidden = hidden | pad_mask.unsqueeze(1)
        q = self.q_proj(x).reshape(b, t, self.groups, -1, self.head_dim)
        k = self.k_proj(x).reshape(b, t, self.groups, self.head_dim)
        v = self.v_proj(x).reshape(b, t, self.groups, self.head_dim)
        scores = torch.einsum("bigrd,bjgd->bgrij", q * self.head_dim**-0.5, k)
        blind = hidden.all(-1, keepdim=True)
        bias = torch.zeros(hidden.shape, dtype=x.dtype, device=x.device)
        bias = bias.masked_fill(hidden & ~blind, float("-inf"))
        weights = (scores + bias[:, None, None]).softmax(dim=-1)
        heads = torch.einsum("bgrij,bjgd->bigrd", weights, v)
        heads = torch.where(blind[:, :, :, None, None], 0.0, heads)
        return self.o_proj(heads.flatten(2))
