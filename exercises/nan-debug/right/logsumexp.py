import torch
import torch.nn.functional as F


def log_softmax(logits):
    return logits - torch.logsumexp(logits, dim=-1, keepdim=True)


def binary_cross_entropy(logits, targets):
    # -log sigmoid(z) = softplus(-z), -log(1 - sigmoid(z)) = softplus(z)
    losses = targets * F.softplus(-logits) + (1 - targets) * F.softplus(logits)
    return torch.mean(losses)


def masked_mean(values, mask):
    count = mask.sum()
    total = values[mask].sum()
    return total / torch.where(count > 0, count, torch.ones_like(count))


def standardize(x, eps=1e-5):
    mean = x.mean(0)
    variance = x.var(0, correction=0)
    return (x - mean) / torch.sqrt(variance + eps)


def distance(a, b):
    squared = (a - b).pow(2).sum(-1)
    return squared.clamp(min=1e-14).sqrt()


def _clip(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.sqrt(sum(g.float().pow(2).sum() for g in grads))
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm


def train_step(model, optimizer, scaler, inputs, targets, max_norm=1.0, ignore_index=-100):
    optimizer.zero_grad()
    log_probs = log_softmax(model(inputs))
    mask = targets != ignore_index
    nll = -log_probs.gather(-1, targets.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
    loss = masked_mean(nll, mask)
    if not torch.isfinite(loss).item():
        optimizer.zero_grad()
        return None
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = _clip(list(model.parameters()), max_norm)
    scaler.step(optimizer)
    scaler.update()
    if not torch.isfinite(norm):
        optimizer.zero_grad()
        return None
    return float(loss.detach())
