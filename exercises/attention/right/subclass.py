"""Plain attention in a base class, grouped and padded in a subclass; finfo.min and a mask on the result."""

import math

import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.dim = heads, groups, width // heads
        self.o_proj = nn.Linear(heads * self.dim, width, bias=False)
        self.q_proj = nn.Linear(width, heads * self.dim, bias=False)
        self.k_proj = nn.Linear(width, groups * self.dim, bias=False)
        self.v_proj = nn.Linear(width, groups * self.dim, bias=False)

    def attend(self, q, k, v, hidden):
        scores = torch.matmul(q, k.transpose(2, 3)).mul_(1 / math.sqrt(self.dim))
        scores = scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
        return torch.matmul(torch.softmax(scores, dim=3), v)


class CausalSelfAttention(Base):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int | None = None):
        groups = n_kv_heads if n_kv_heads is not None else n_heads
        if d_model <= 0 or n_heads <= 0 or groups <= 0:
            raise ValueError("all sizes must be positive")
        if d_model % n_heads != 0 or n_heads % groups != 0:
            raise ValueError("sizes must divide each other")
        super().__init__(d_model, n_heads, groups)

    def forward(self, x, pad_mask=None):
        b, t, c = x.size()
        hidden = ~torch.tril(x.new_ones(t, t)).bool()
        hidden = hidden.view(1, 1, t, t)
        if pad_mask is not None:
            if pad_mask.dtype != torch.bool:
                raise ValueError("pad_mask is not bool")
            if pad_mask.dim() != 2 or pad_mask.size(0) != b or pad_mask.size(1) != t:
                raise ValueError("pad_mask has a wrong shape")
            hidden = hidden | pad_mask.reshape(b, 1, 1, t)
        q = self.q_proj(x).reshape(b, t, self.heads, self.dim).permute(0, 2, 1, 3)
        index = torch.arange(self.heads, device=x.device) // (self.heads // self.groups)
        k = self.k_proj(x).reshape(b, t, self.groups, self.dim).permute(0, 2, 1, 3)[:, index]
        v = self.v_proj(x).reshape(b, t, self.groups, self.dim).permute(0, 2, 1, 3)[:, index]
        out = self.attend(q, k, v, hidden)
        out = out * ~hidden.all(dim=3, keepdim=True)
        return self.o_proj(out.permute(0, 2, 1, 3).contiguous().view(b, t, c))
