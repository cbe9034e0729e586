# fails: 14
# message: test the loss itself
import torch
import torch.nn.functional as F
from torch import nn


def log_softmax(logits):
    m = logits.detach().max(dim=-1, keepdim=True).values
    z = logits - m
    return z - z.exp().sum(-1, keepdim=True).log()


def binary_cross_entropy(logits, targets):
    # t * softplus(-z) + (1 - t) * softplus(z) = softplus(z) - t z
    return (torch.logaddexp(logits, torch.zeros_like(logits)) - targets * logits).mean()


def masked_mean(values, mask):
    picked = values[mask]
    if picked.numel() == 0:
        return picked.sum()
    return picked.sum() / picked.numel()


def standardize(x, eps=1e-5):
    centred = x - x.mean(0, keepdim=True)
    centred = centred - centred.mean(0, keepdim=True)
    var = (centred * centred).mean(0, keepdim=True)
    return centred / torch.sqrt(var + eps)


def distance(a, b):
    sq = (a - b).pow(2).sum(-1)
    zero = sq == 0
    safe = torch.where(zero, torch.ones_like(sq), sq)
    return torch.where(zero, torch.zeros_like(sq), safe.sqrt())


def train_step(model, optimizer, scaler, inputs, targets, max_norm=1.0, ignore_index=-100):
    optimizer.zero_grad()
    log_probs = log_softmax(model(inputs))
    mask = targets != ignore_index
    nll = -log_probs.gather(-1, targets.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
    loss = masked_mean(nll, mask)
    if not torch.isfinite(scaler.scale(loss)):
        return None
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    ok = True
    for p in model.parameters():
        if p.grad is not None and not torch.isfinite(p.grad).all():
            ok = False
    if ok:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.item() if ok else None
