# fails: 10
# message: infinite element
import torch
import torch.nn.functional as F
from torch import nn


def log_softmax(logits):
    return F.log_softmax(logits, dim=-1)


def binary_cross_entropy(logits, targets):
    return F.binary_cross_entropy_with_logits(logits, targets)


def masked_mean(values, mask):
    n = mask.sum().clamp(min=1)
    return torch.where(mask, values, torch.zeros_like(values)).sum() / n


def standardize(x, eps=1e-5):
    mean = x.mean(0)
    centred = x - mean
    var = centred.pow(2).mean(0)
    return centred / (var + eps).sqrt()


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
    if not torch.isfinite(loss):
        return None
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    if torch.isnan(norm):
        return None
    return loss.item()
