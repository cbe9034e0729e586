"""Layers get their own part of the cache; fused attention; a chunk runs query by query on top of the past."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LayerCache:
    """One layer's part of the cache, as views."""

    def __init__(self, keys, values):
        self.keys, self.values = keys, values

    @torch.no_grad()
    def store(self, k, v, start):
        slots = torch.arange(start, start + k.shape[2], device=k.device)
        self.keys.index_copy_(2, slots, k)
        self.values.index_copy_(2, slots, v)


class KVCache:
    def __init__(self, shape, weight):
        self.keys = torch.empty(shape, dtype=weight.dtype, device=weight.device).fill_(0)
        self.values = torch.zeros_like(self.keys)
        self.layers = [LayerCache(k, v) for k, v in zip(self.keys, self.values)]
        self.length = 0

    def check(self, tokens):
        _, batch, _, max_len, _ = self.keys.shape
        if tokens.shape[0] != batch:
            raise ValueError("wrong batch size")
        if not 0 < tokens.shape[1] <= max_len - self.length:
            raise ValueError("no room for these tokens, or none given")


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=False)

    def forward(self, x: Tensor, cache: KVCache | None = None, layer: int = 0) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model); with a cache, stores in it and reads the past from it."""
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.n_kv_heads, self.head_dim).transpose(1, 2)
        start = layer
        group = self.n_heads // self.n_kv_heads
        if cache is not None:
            cache.store(k, v, start)
            k, v = cache.keys, cache.values
        rows = []
        for i in range(t):
            seen = start + i + 1
            keys = k[:, :, :seen].repeat_interleave(group, dim=1)
            values = v[:, :, :seen].repeat_interleave(group, dim=1)
            rows.append(F.scaled_dot_product_attention(q[:, :, i : i + 1], keys, values))
        return self.o_proj(torch.cat(rows, dim=2).transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, n_heads, n_kv_heads)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x: Tensor, cache: KVCache | None = None, layer: int = 0) -> Tensor:
        x = x + self.attn(self.ln1(x), cache, layer)
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    def __init__(
        self, vocab_size: int, max_len: int, d_model: int, n_heads: int, n_kv_heads: int, n_layers: int
    ):
        super().__init__()
        self.max_len = max_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList([Block(d_model, n_heads, n_kv_heads) for _ in range(n_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def new_cache(self, batch: int, max_len: int | None = None) -> KVCache:
        """An empty cache; ``max_len`` None: as long as the model's."""
        max_len = self.max_len if max_len is None else max_len
        if batch < 1:
            raise ValueError("batch must be at least 1")
        if not 1 <= max_len <= self.max_len:
            raise ValueError(f"max_len must be between 1 and {self.max_len}")
        attn = self.blocks[0].attn
        shape = (len(self.blocks), batch, attn.n_kv_heads, max_len, attn.head_dim)
        return KVCache(shape, next(self.parameters()))

    def forward(self, tokens: Tensor, cache: KVCache | None = None) -> Tensor:
        if cache is not None:
            cache.check(tokens)
        b, t = tokens.shape
        start = cache.length if cache is not None else 0
        positions = torch.arange(start, start + t, device=tokens.device)
        x = self.tok_emb(tokens) + self.pos_emb(positions)
        for layer, block in enumerate(self.blocks):
            x = block(x, cache.layers[layer] if cache is not None else None, start)
        if cache is not None:
            cache.length = start + t
        return self.head(self.ln_f(x))

    @torch.no_grad()
    def generate(self, tokens: Tensor, n_new: int) -> Tensor:
        """Greedy: (B, T) -> (B, T + n_new)."""
        b, t = tokens.shape
        if n_new < 0:
            raise ValueError("n_new must not be negative")
        if t + n_new > self.max_len:
            raise ValueError(f"{t} + {n_new} tokens do not fit into {self.max_len} positions")
        if n_new == 0:
            return tokens.clone()
        cache = self.new_cache(b, t + n_new)
        result, following = [tokens], tokens
        for _ in range(n_new):
            following = self(following, cache)[:, -1].argmax(dim=-1, keepdim=True)
            result.append(following)
        return torch.cat(result, dim=1)
