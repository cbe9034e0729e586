"""Multi-head causal self-attention with padding masks and grouped keys and values."""

import math

import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Position t attends to positions 0 to t, without those that `pad_mask` marks."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None = None):
        super().__init__()
        if n_kv_heads is None:
            n_kv_heads = n_heads
        if min(d_model, n_heads, n_kv_heads) < 1:
            raise ValueError(f"sizes must be at least 1, got {d_model}, {n_heads}, {n_kv_heads}")
        if d_model % n_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by n_heads {n_heads}")
        if n_heads % n_kv_heads != 0:
            raise ValueError(f"n_heads {n_heads} is not divisible by n_kv_heads {n_kv_heads}")
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.head_dim = d_model // n_heads
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=False)

    def split(self, features: Tensor, n_heads: int) -> Tensor:
        """(B, T, n_heads * head_dim) to (B, n_heads, T, head_dim)."""
        batch, length, _ = features.shape
        return features.view(batch, length, n_heads, self.head_dim).transpose(1, 2)

    def forward(self, x: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        """Attend within each sequence of x (B, T, d_model); `pad_mask` (B, T) is True at padding."""
        batch, length, _ = x.shape
        q = self.split(self.q_proj(x), self.n_heads)
        k = self.split(self.k_proj(x), self.n_kv_heads)
        v = self.split(self.v_proj(x), self.n_kv_heads)
        group = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)

        visible = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        if pad_mask is not None:
            if pad_mask.dtype != torch.bool:
                raise ValueError(f"pad_mask must be bool, got {pad_mask.dtype}")
            if pad_mask.shape != (batch, length):
                raise ValueError(f"pad_mask must be {(batch, length)}, got {tuple(pad_mask.shape)}")
            visible = visible & ~pad_mask[:, None, None, :]

        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        # A row of -inf alone would give NaN, in the gradient too: such rows keep their scores and lose their weights.
        has_key = visible.any(-1, keepdim=True)
        scores = scores.masked_fill(has_key & ~visible, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        weights = weights.masked_fill(~has_key, 0.0)

        heads = weights @ v
        return self.o_proj(heads.transpose(1, 2).reshape(batch, length, -1))
