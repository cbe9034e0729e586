"""Attends over the whole buffer with a mask; groups queries by einsum; the buffers are views of one storage."""

import torch
from torch import nn
from torch.nn import functional as F


class KVCache:
    def __init__(self, n_layers, batch, n_kv_heads, max_len, head_dim, like):
        # Tokens come first in memory, so that a step writes one stretch.
        self.store = torch.zeros(
            2, n_layers, max_len, batch, n_kv_heads, head_dim, dtype=like.dtype, device=like.device
        )
        self._length = 0

    @property
    def keys(self):
        return self.store[0].permute(0, 2, 3, 1, 4)

    @property
    def values(self):
        return self.store[1].permute(0, 2, 3, 1, 4)

    @property
    def length(self):
        return self._length

    @length.setter
    def length(self, n):
        self._length = int(n)

    @property
    def max_len(self):
        return self.store.shape[2]

    @property
    def batch(self):
        return self.store.shape[3]

    def layer(self, i):
        return self.store[0, i], self.store[1, i]


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=False)

    def forward(self, x, store=None, start=0):
        b, t, _ = x.shape
        q = F.linear(x, self.q_proj.weight).view(b, t, self.n_kv_heads, -1, self.head_dim)
        k = F.linear(x, self.k_proj.weight).view(b, t, self.n_kv_heads, self.head_dim)
        v = F.linear(x, self.v_proj.weight).view(b, t, self.n_kv_heads, self.head_dim)
        k, v = k.transpose(0, 1), v.transpose(0, 1)
        if store is not None:
            for buffer, new in zip(store, (k, v)):
                buffer.narrow(0, start, t).copy_(new.data)
            k, v = store
        scores = torch.einsum("btgrd,sbgd->bgrts", q, k) * self.head_dim**-0.5
        rows = torch.arange(start, start + t, device=x.device)
        hidden = torch.arange(k.shape[0], device=x.device)[None, :] > rows[:, None]
        weights = torch.where(hidden, torch.finfo(scores.dtype).min, scores).softmax(-1)
        return self.o_proj(torch.einsum("bgrts,sbgd->btgrd", weights, v).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, n_heads, n_kv_heads)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x, store=None, start=0):
        x = x + self.attn(self.ln1(x), store, start)
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    def __init__(self, vocab_size, max_len, d_model, n_heads, n_kv_heads, n_layers):
        super().__init__()
        self.max_len = max_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList([Block(d_model, n_heads, n_kv_heads) for _ in range(n_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def new_cache(self, batch, max_len=None):
        if max_len is None:
            max_len = self.max_len
        if batch <= 0 or max_len <= 0 or max_len > self.max_len:
            raise ValueError("impossible sizes for a cache")
        attn = self.blocks[0].attn
        return KVCache(len(self.blocks), batch, attn.n_kv_heads, max_len, attn.head_dim, self.head.weight)

    def forward(self, tokens, cache=None):
        start = 0 if cache is None else cache.length
        if cache is not None:
            fits = tokens.shape[1] >= 1 and start + tokens.shape[1] <= cache.max_len
            if not fits or tokens.shape[0] != cache.batch:
                raise ValueError("these tokens do not fit the cache")
        x = self.tok_emb(tokens) + self.pos_emb.weight[start : start + tokens.shape[1]]
        for i, block in enumerate(self.blocks):
            x = block(x, cache and cache.layer(i), start)
        if cache is not None:
            cache.length += tokens.shape[1]
        return self.head(self.ln_f(x))

    def generate(self, tokens, n_new):
        if n_new < 0 or tokens.shape[1] + n_new > self.max_len:
            raise ValueError("n_new is negative or too large")
        out = torch.cat([tokens, tokens.new_zeros(len(tokens), n_new)], dim=1)
        cache, seen = self.new_cache(len(tokens)), 0
        with torch.inference_mode():
            for t in range(tokens.shape[1], tokens.shape[1] + n_new):
                out[:, t] = self(out[:, seen:t], cache)[:, -1].argmax(-1)
                seen = t
        return out
