"""One head after the other, the loss by hand, results written into a tensor of the final size."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        if not (d_model >= 1 and n_heads >= 1) or d_model % n_heads > 0 or not 0.0 <= dropout < 1.0:
            raise ValueError("bad sizes or dropout")
        super().__init__()
        self.n_heads = n_heads
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, d_model * 3)
        self.proj = nn.Linear(d_model, d_model)
        self.fc = nn.Linear(d_model, d_model * 4)
        self.out = nn.Linear(d_model * 4, d_model)
        self.attention_dropout = nn.Dropout(dropout)
        self.mlp_dropout = nn.Dropout(dropout)

    def forward(self, x):
        d, t = x.shape[-1], x.shape[-2]
        step = d // self.n_heads
        qkv = self.qkv(self.ln1(x))
        bias = torch.full((t, t), -1e9, device=x.device).triu_(1)
        heads = []
        for start in range(0, d, step):
            q = qkv[..., start : start + step]
            k = qkv[..., d + start : d + start + step]
            v = qkv[..., 2 * d + start : 2 * d + start + step]
            scores = torch.bmm(q, k.mT).div_(step**0.5).add_(bias)
            scores = scores - scores.max(-1, keepdim=True).values
            weights = scores.exp()
            heads.append((weights / weights.sum(-1, keepdim=True)).bmm(v))
        x = x + self.attention_dropout(self.proj(torch.cat(heads, -1)))
        return self.mlp_dropout(self.out(nn.GELU()(self.fc(self.ln2(x))))) + x


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, max_len, d_model, n_heads, n_layers, dropout=0.0):
        if vocab_size < 1 or max_len < 1 or n_layers < 1 or d_model < 1:
            raise ValueError("bad sizes")
        super().__init__()
        self.vocab_size, self.max_len = vocab_size, max_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(n_layers):
            self.blocks.append(Block(d_model, n_heads, dropout))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.tok_emb.weight.data.mul_(0.02)
        self.pos_emb.weight.data.mul_(0.01)
        self.head.weight = self.tok_emb.weight

    def forward(self, tokens):
        b, t = tokens.shape
        if t < 1:
            raise ValueError("no tokens")
        if t > self.max_len:
            raise ValueError("too many tokens")
        x = self.tok_emb(tokens) + self.pos_emb.weight[:t]
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return self.ln_f(x) @ self.tok_emb.weight.t()

    def loss(self, tokens, labels=None):
        labels = tokens if labels is None else labels
        if labels.shape != tokens.shape:
            raise ValueError("labels and tokens differ in shape")
        if tokens.shape[1] < 2:
            raise ValueError("too short")
        logits = self(tokens)
        total, count = logits.sum() * 0, 0
        for t in range(tokens.shape[1] - 1):
            keep = labels[:, t + 1] != -100
            index = labels[:, t + 1].masked_fill(~keep, 0)[:, None]
            picked = logits[:, t].logsumexp(-1) - logits[:, t].gather(1, index)[:, 0]
            total = total + (picked * keep).sum()
            count += int(keep.sum())
        return total / max(count, 1)

    @torch.no_grad()
    def generate(self, tokens, n_new):
        if n_new < 0:
            raise ValueError("negative n_new")
        b, t = tokens.shape
        training = [m for m in self.modules() if m.training]
        self.eval()
        result = torch.empty(b, t + n_new, dtype=tokens.dtype, device=tokens.device)
        result[:, :t] = tokens
        for i in range(t, t + n_new):
            logits = self(result[:, max(0, i - self.max_len) : i])
            result[:, i] = logits[:, -1].max(-1)[1]
        for m in training:
            m.training = True
        return result


def train_step(model, optimizer, tokens):
    model.train(True)
    for p in model.parameters():
        p.grad = None
    loss = model.loss(tokens)
    before = loss.item()
    loss.backward()
    optimizer.step()
    return before
