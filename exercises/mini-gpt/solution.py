"""A GPT in a hundred lines.

Invariant: the logits at position t depend on the tokens up to t alone and predict the token at t + 1. A fresh model
is uniform (loss ln V); a trained one can reach 0 on one sequence only because the positions tell tokens apart.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """A pre-norm transformer block: causal attention, then a GELU MLP."""

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        if d_model < 1 or n_heads < 1:
            raise ValueError("d_model and n_heads must be at least 1")
        if d_model % n_heads:
            raise ValueError("d_model must be a multiple of n_heads")
        if not 0 <= dropout < 1:
            raise ValueError("dropout must be in [0, 1)")
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads
        self.ln1 = nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.out = nn.Linear(4 * d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def attention(self, x: Tensor) -> Tensor:
        """Causal multi-head attention of (B, T, d_model), before ``proj``."""
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        k = k.view(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        v = v.view(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        x = x + self.drop(self.proj(self.attention(self.ln1(x))))
        return x + self.drop(self.out(F.gelu(self.fc(self.ln2(x)))))


class MiniGPT(nn.Module):
    """A decoder-only language model with a tied head."""

    def __init__(
        self, vocab_size: int, max_len: int, d_model: int, n_heads: int, n_layers: int, dropout: float = 0.0
    ):
        super().__init__()
        if min(vocab_size, max_len, d_model, n_layers) < 1:
            raise ValueError("sizes must be at least 1")
        self.max_len = max_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList([Block(d_model, n_heads, dropout) for _ in range(n_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.tok_emb.weight
        nn.init.normal_(self.tok_emb.weight, std=0.02)
        nn.init.normal_(self.pos_emb.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Integers (B, T) -> logits (B, T, vocab_size)."""
        length = tokens.shape[1]
        if not 1 <= length <= self.max_len:
            raise ValueError(f"expected 1 to {self.max_len} tokens, got {length}")
        positions = torch.arange(length, device=tokens.device)
        x = self.tok_emb(tokens) + self.pos_emb(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))

    def loss(self, tokens: Tensor, labels: Tensor | None = None) -> Tensor:
        """Mean next-token cross-entropy; unshifted labels, of which -100 does not count."""
        if labels is None:
            labels = tokens
        if labels.shape != tokens.shape:
            raise ValueError("labels must have the shape of tokens")
        if tokens.shape[1] < 2:
            raise ValueError("a next-token loss needs at least two tokens")
        logits = self(tokens)[:, :-1].flatten(0, 1)
        targets = labels[:, 1:].flatten()
        total = F.cross_entropy(logits, targets, ignore_index=-100, reduction="sum")
        return total / (targets != -100).sum().clamp(min=1)

    @torch.no_grad()
    def generate(self, tokens: Tensor, n_new: int) -> Tensor:
        """Greedy: (B, T) -> (B, T + n_new)."""
        if n_new < 0:
            raise ValueError("n_new must not be negative")
        modes = [(module, module.training) for module in self.modules()]
        self.eval()
        for _ in range(n_new):
            context = tokens[:, -self.max_len :]
            following = self(context)[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, following], dim=1)
        for module, training in modes:
            module.training = training
        return tokens


def train_step(model: MiniGPT, optimizer: torch.optim.Optimizer, tokens: Tensor) -> float:
    """One update on ``tokens`` (B, T); the loss before it."""
    model.train()
    optimizer.zero_grad()
    loss = model.loss(tokens)
    loss.backward()
    optimizer.step()
    return loss.item()
