"""Einsum, a causal mask in a buffer, the head registered first, and every weight initialized as in GPT-2."""

import torch
from torch import einsum, nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        if d_model <= 0 or n_heads <= 0 or d_model % n_heads != 0:
            raise ValueError("d_model must be a positive multiple of n_heads")
        if dropout < 0.0 or dropout >= 1.0:
            raise ValueError("dropout must be in [0, 1)")
        self.out = nn.Linear(4 * d_model, d_model)
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.ln1 = nn.LayerNorm(d_model)
        self.heads = n_heads
        self.rate = dropout

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(self.ln1(x)).unflatten(-1, (3, self.heads, d // self.heads))
        q, k, v = qkv.unbind(2)
        scores = einsum("bqhd,bkhd->bhqk", q * (d // self.heads) ** -0.5, k)
        visible = torch.tril(scores.new_ones(t, t)).bool()
        scores = torch.where(visible, scores, torch.finfo(scores.dtype).min)
        mixed = einsum("bhqk,bkhd->bqhd", F.softmax(scores, -1), v).flatten(2)
        x = x + F.dropout(self.proj(mixed), self.rate, self.training)
        hidden = F.gelu(self.fc(self.ln2(x)), approximate="none")
        return x + F.dropout(self.out(hidden), self.rate, self.training)


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, max_len, d_model, n_heads, n_layers, dropout=0.0):
        super().__init__()
        for size in (vocab_size, max_len, d_model, n_heads, n_layers):
            if size < 1:
                raise ValueError("every size must be positive")
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.ln_f = nn.LayerNorm(d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, dropout) for _ in range(n_layers))
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.tok_emb.weight = self.head.weight
        self.register_buffer("positions", torch.arange(max_len), persistent=False)
        self.apply(self.start)
        for block in self.blocks:
            for layer in (block.proj, block.out):
                nn.init.normal_(layer.weight, std=0.02 / (2 * n_layers) ** 0.5)

    @staticmethod
    def start(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, 0.0, 0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        t = tokens.size(1)
        if t == 0 or t > len(self.positions):
            raise ValueError(f"cannot run {t} tokens")
        x = self.tok_emb(tokens) + self.pos_emb(self.positions[:t])[None]
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))

    def loss(self, tokens, labels=None):
        labels = tokens if labels is None else labels
        if tuple(labels.shape) != tuple(tokens.shape) or tokens.size(1) < 2:
            raise ValueError("labels need the shape of tokens, at least two of them")
        logits = self.forward(tokens)[:, :-1].transpose(1, 2)
        target = labels[:, 1:]
        if not bool((target != -100).any()):
            return logits.sum() * 0.0
        return F.cross_entropy(logits, target)

    def generate(self, tokens, n_new):
        if n_new < 0:
            raise ValueError("n_new is negative")
        modes = {name: module.training for name, module in self.named_modules()}
        self.train(False)
        try:
            with torch.inference_mode():
                result = tokens.clone()
                for _ in range(n_new):
                    window = result[:, max(0, result.size(1) - len(self.positions)) :]
                    best = self(window)[:, -1, :].topk(1).indices
                    result = torch.hstack((result, best))
        finally:
            for name, module in self.named_modules():
                module.training = modes[name]
        return result.clone()


def train_step(model, optimizer, tokens):
    model.train()
    loss = model.loss(tokens)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    return float(loss.detach())
