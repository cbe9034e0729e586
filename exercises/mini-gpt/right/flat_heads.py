"""Heads folded into the batch, an additive mask, in-place work on its own temporaries, subclasses of nn modules."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tied(nn.Linear):
    def __init__(self, embedding):
        super().__init__(embedding.embedding_dim, embedding.num_embeddings, bias=False)
        del self.weight
        self.weight = embedding.weight


class Block(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        if n_heads < 1 or d_model < 1:
            raise ValueError("sizes below 1")
        self.head_dim, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError("heads do not divide d_model")
        if not 0 <= dropout < 1:
            raise ValueError("dropout")
        self.n_heads = n_heads
        layers = {"qkv": (1, 3), "proj": (1, 1), "fc": (1, 4), "out": (4, 1)}
        for name, (a, b) in layers.items():
            self.add_module(name, nn.Linear(a * d_model, b * d_model))
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.register_module("residual_dropout", nn.Dropout(p=dropout, inplace=True))

    def fold(self, x):
        """(B, T, d) to (B * heads, T, head_dim)."""
        b, t, _ = x.shape
        return x.view(b, t, self.n_heads, self.head_dim).permute(0, 2, 1, 3).reshape(-1, t, self.head_dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = map(self.fold, torch.tensor_split(self.qkv(self.ln1(x)), 3, dim=2))
        mask = torch.full((1, t, t), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        weights = torch.baddbmm(
            mask.expand(b * self.n_heads, t, t), q, k.transpose(1, 2), alpha=self.head_dim**-0.5
        )
        mixed = torch.bmm(torch.softmax(weights, 2), v)
        mixed = mixed.reshape(b, self.n_heads, t, self.head_dim).permute(0, 2, 1, 3).flatten(2)
        y = self.residual_dropout(self.proj(mixed))
        y += x
        h = self.fc(self.ln2(y))
        h = 0.5 * h * (1 + torch.erf(h / 2**0.5))
        return torch.add(y, self.residual_dropout(self.out(h)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, max_len, d_model, n_heads, n_layers, dropout=0.0):
        super().__init__()
        if min(vocab_size, max_len, d_model, n_heads, n_layers) <= 0:
            raise ValueError("sizes below 1")
        self.limit = max_len
        self.tok_emb = nn.Embedding(vocab_size, d_model, _weight=torch.randn(vocab_size, d_model) * 0.02)
        self.pos_emb = nn.Embedding(max_len, d_model, _weight=torch.zeros(max_len, d_model))
        nn.init.trunc_normal_(self.pos_emb.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, dropout) for _ in range(n_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = Tied(self.tok_emb)

    def hidden(self, tokens):
        if not tokens.shape[1] or tokens.shape[1] > self.limit:
            raise ValueError("length out of range")
        x = F.embedding(tokens, self.tok_emb.weight)
        x = x + self.pos_emb(
            torch.arange(0, tokens.shape[1], dtype=torch.long, device=tokens.device)
        ).unsqueeze(0)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x)

    def forward(self, tokens):
        return self.head(self.hidden(tokens))

    def loss(self, tokens, labels=None):
        labels = tokens if labels is None else labels
        if tokens.shape != labels.shape or tokens.shape[-1] <= 1:
            raise ValueError("shape of labels or length")
        hidden = self.hidden(tokens)[:, :-1]
        keep = labels[:, 1:].ne(-100)
        log_probs = self.head(hidden[keep]).log_softmax(-1)
        picked = log_probs[torch.arange(len(log_probs), device=tokens.device), labels[:, 1:][keep]]
        return -picked.sum() / keep.sum().clamp_min(1)

    @torch.no_grad()
    def generate(self, tokens, n_new):
        if n_new < 0:
            raise ValueError("n_new")
        pieces = [tokens]
        modes = tuple((m, m.training) for m in self.modules())
        self.eval()
        for _ in range(n_new):
            seen = torch.cat(pieces, 1)[:, -self.limit :]
            pieces.append(self.head(self.hidden(seen)[:, -1:]).argmax(-1))
        for m, flag in modes:
            m.training = flag
        return torch.cat(pieces, 1)


def train_step(model, optimizer, tokens):
    model.zero_grad()
    model.train()
    loss = model.loss(tokens)
    grads = torch.autograd.grad(loss, list(model.parameters()))
    for p, g in zip(model.parameters(), grads):
        p.grad = g
    optimizer.step()
    return loss.detach().cpu().numpy().item()
