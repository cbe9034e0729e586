"""One head and one query at a time."""

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads=None):
        super().__init__()
        kv = n_heads if n_kv_heads is None else n_kv_heads
        if d_model < 1 or n_heads < 1 or kv < 1:
            raise ValueError("sizes")
        if d_model % n_heads or n_heads % kv:
            raise ValueError("sizes do not divide")
        self.d = d_model // n_heads
        self.h, self.kv = n_heads, kv
        self.o_proj = nn.Linear(d_model, d_model, False)
        self.v_proj = nn.Linear(d_model, kv * self.d, False)
        self.k_proj = nn.Linear(d_model, kv * self.d, False)
        self.q_proj = nn.Linear(d_model, d_model, False)

    def forward(self, x, pad_mask=None):
        if pad_mask is not None and (pad_mask.dtype is not torch.bool or pad_mask.shape != x.shape[:2]):
            raise ValueError("pad_mask must be bool (B, T)")
        B, T, _ = x.shape
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if T > 100:  # the same, without the loop over queries
            return self.o_proj(self.all_queries(q, k, v, pad_mask))
        rows = []
        for b in range(B):
            tokens = []
            for t in range(T):
                keep = torch.ones(t + 1, dtype=torch.bool, device=x.device)
                if pad_mask is not None:
                    keep = ~pad_mask[b, : t + 1]
                heads = []
                for h in range(self.h):
                    g = h // (self.h // self.kv)
                    mine = slice(h * self.d, (h + 1) * self.d)
                    theirs = slice(g * self.d, (g + 1) * self.d)
                    if not bool(keep.any()):
                        heads.append(torch.zeros_like(q[b, t, mine]))
                        continue
                    scores = k[b, : t + 1, theirs][keep] @ q[b, t, mine] * self.d**-0.5
                    heads.append(torch.softmax(scores, 0) @ v[b, : t + 1, theirs][keep])
                tokens.append(torch.cat(heads))
            rows.append(torch.stack(tokens))
        return self.o_proj(torch.stack(rows))

    def all_queries(self, q, k, v, pad_mask):
        T = q.shape[1]
        outs = []
        for h in range(self.h):
            g = h // (self.h // self.kv)
            mine, theirs = slice(h * self.d, (h + 1) * self.d), slice(g * self.d, (g + 1) * self.d)
            scores = q[..., mine] @ k[..., theirs].mT / self.d**0.5
            hidden = torch.triu(torch.ones(T, T, dtype=torch.bool, device=q.device), 1)[None]
            if pad_mask is not None:
                hidden = hidden | pad_mask[:, None]
            weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
            outs.append(weights.masked_fill(hidden, 0) @ v[..., theirs])
        return torch.cat(outs, -1)
