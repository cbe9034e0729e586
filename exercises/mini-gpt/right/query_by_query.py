"""No mask at all: each query sees only the keys up to itself. Positions by cumsum, samples one by one."""

import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu


def check(good, text):
    if not good:
        raise ValueError(text)


class Attention(nn.Module):
    """Has no parameters of its own."""

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads

    def forward(self, q, k, v):
        split = [part.unflatten(-1, (self.n_heads, -1)) for part in (q, k, v)]
        q, k, v = split
        rows = []
        for t in range(q.shape[1]):
            scores = (q[:, t, None] * k[:, : t + 1]).sum(-1) / math.sqrt(q.shape[-1])
            weights = scores.softmax(dim=1)
            rows.append((weights[..., None] * v[:, : t + 1]).sum(1).flatten(1))
        return torch.stack(rows, dim=1)


class Block(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        check(d_model > 0 and n_heads > 0, "sizes")
        check(d_model // n_heads * n_heads == d_model, "d_model is not divisible by n_heads")
        check(0 <= dropout < 1, "dropout")
        self.dropout = dropout
        self.ln1 = nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.attention = Attention(n_heads)
        self.proj = nn.Linear(d_model, d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.out = nn.Linear(4 * d_model, d_model)

    def drop(self, x):
        if not self.training or self.dropout == 0:
            return x
        return x * (torch.rand_like(x) >= self.dropout) / (1 - self.dropout)

    def forward(self, x):
        d = x.shape[-1]
        x = x + self.drop(self.proj(self.attention(*self.qkv(self.ln1(x)).split(d, dim=-1))))
        x = x + self.drop(self.out(gelu(self.fc(self.ln2(x)))))
        return x


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, max_len, d_model, n_heads, n_layers, dropout=0.0):
        super().__init__()
        check(all(n > 0 for n in (vocab_size, max_len, d_model, n_heads, n_layers)), "sizes")
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList([Block(d_model, n_heads, dropout) for _ in range(n_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        with torch.no_grad():
            for embedding in (self.tok_emb, self.pos_emb):
                embedding.weight.normal_(std=0.01)
        self.head.weight = self.tok_emb.weight

    def forward(self, tokens):
        check(0 < tokens.shape[1] <= self.pos_emb.num_embeddings, "length")
        positions = torch.ones_like(tokens).cumsum(1) - 1
        x = self.tok_emb(tokens) + self.pos_emb(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))

    def loss(self, tokens, labels=None):
        if labels is None:
            labels = tokens.clone()
        check(labels.shape == tokens.shape, "labels")
        check(tokens.shape[1] >= 2, "length")
        shifted = torch.full_like(labels, -100)
        shifted[:, :-1] = labels[:, 1:]
        counted = int((shifted != -100).sum())
        logits = self(tokens)
        each = cross_entropy(logits.reshape(-1, logits.shape[-1]), shifted.reshape(-1), reduction="none")
        return each.sum() / counted if counted else each.sum()

    def generate(self, tokens, n_new):
        check(n_new >= 0, "n_new")
        return torch.stack([self._continue(row.tolist(), n_new, tokens) for row in tokens])

    @torch.no_grad()
    def _continue(self, row, n_new, like):
        modes = [m.training for m in self.modules()]
        self.eval()
        for _ in range(n_new):
            context = torch.tensor([row[-self.pos_emb.num_embeddings :]], device=like.device)
            row.append(int(self(context)[0, -1].argmax()))
        for m, mode in zip(self.modules(), modes, strict=True):
            m.training = mode
        return torch.tensor(row, dtype=like.dtype, device=like.device)


def train_step(model, optimizer, tokens):
    optimizer.zero_grad()
    model.train()

    def closure():
        loss = model.loss(tokens)
        loss.backward()
        return loss

    return optimizer.step(closure).item()
