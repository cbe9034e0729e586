"""A small decoder with grouped-query attention, right but slow.

It runs the whole sequence again for every new token. Add a key/value cache.
Keep every name, and the outputs without a cache.
"""

import math

import torch
from torch import Tensor, nn


class KVCache:
    """Keys and values of the tokens so far. Made by ``Decoder.new_cache``.

    ``keys``, ``values``: (n_layers, B, n_kv_heads, max_len, head_dim).
    ``length``: tokens stored, the same for all layers and samples.
    """

    keys: Tensor
    values: Tensor
    length: int


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.head_dim = d_model // n_heads
        d_kv = n_kv_heads * self.head_dim
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, d_kv, bias=False)
        self.v_proj = nn.Linear(d_model, d_kv, bias=False)
        self.o_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model), causal."""
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.n_heads, self.head_dim)
        k = self.k_proj(x).view(b, t, self.n_kv_heads, self.head_dim)
        v = self.v_proj(x).view(b, t, self.n_kv_heads, self.head_dim)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        group = self.n_heads // self.n_kv_heads
        k = k.repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        future = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, n_heads, n_kv_heads)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(),
            nn.Linear(4 * d_model, d_model),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        max_len: int,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        n_layers: int,
    ):
        super().__init__()
        self.max_len = max_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        blocks = [Block(d_model, n_heads, n_kv_heads) for _ in range(n_layers)]
        self.blocks = nn.ModuleList(blocks)
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def new_cache(self, batch: int, max_len: int | None = None) -> KVCache:
        """An empty cache; ``max_len`` None: as long as the model's."""
        raise NotImplementedError

    def forward(self, tokens: Tensor, cache: KVCache | None = None) -> Tensor:
        """(B, T) -> logits (B, T, vocab_size).

        With a cache the tokens follow those in it, and are stored in it.
        """
        if cache is not None:
            raise NotImplementedError
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tok_emb(tokens) + self.pos_emb(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))

    @torch.no_grad()
    def generate(self, tokens: Tensor, n_new: int) -> Tensor:
        """Greedy: (B, T) -> (B, T + n_new). Still without the cache."""
        for _ in range(n_new):
            logits = self(tokens)[:, -1]
            best = logits.argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, best], dim=1)
        return tokens
