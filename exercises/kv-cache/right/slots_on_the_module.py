"""The blocks stay as in the starter: each call hands the attention its slots through a small context object."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class KVCache:
    keys: Tensor
    values: Tensor
    length: int = 0


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=False)
        self.slots = None
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.n_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.n_kv_heads, self.head_dim).transpose(1, 2)
        start = 0
        if self.slots is not None:
            cache, layer, start = self.slots
            past_k, past_v = cache.keys[layer, :, :, :start], cache.values[layer, :, :, :start]
            with torch.no_grad():
                cache.keys[layer].narrow(2, start, t).copy_(k)
                cache.values[layer].narrow(2, start, t).copy_(v)
            k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
        group = self.n_heads // self.n_kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        future = torch.ones(t, start + t, dtype=torch.bool, device=x.device).triu(start + 1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, n_heads, n_kv_heads)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
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
        weight = attn.k_proj.weight.detach()
        return KVCache(weight.new_zeros(shape), weight.new_zeros(shape))

    def forward(self, tokens: Tensor, cache: KVCache | None = None) -> Tensor:
        """(B, T) -> logits (B, T, vocab_size). With a cache the tokens follow those in it, and are stored in it."""
        b, t = tokens.shape
        start = 0
        if cache is not None:
            start = cache.length
            if t == 0:
                raise ValueError("there must be at least one token")
            if b != cache.keys.shape[1]:
                raise ValueError(f"the cache holds {cache.keys.shape[1]} samples, got {b}")
            if start + t > cache.keys.shape[3]:
                raise ValueError(f"{start} + {t} tokens do not fit into {cache.keys.shape[3]} slots")
        positions = torch.arange(start, start + t, device=tokens.device)
        x = self.tok_emb(tokens) + self.pos_emb(positions)
        for layer, block in enumerate(self.blocks):
            block.attn.slots = None if cache is None else (cache, layer, start)
            x = block(x)
            block.attn.slots = None
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
        cache = self.new_cache(b)
        logits = self(tokens, cache)
        new = [logits[:, -1:].max(dim=-1).indices]
        while len(new) < n_new:
            new.append(self(new[-1], cache).argmax(dim=-1))
        return torch.hstack([tokens, *new])
