import torch
import torch.nn.functional as F


def log_softmax(logits):
    return logits.log_softmax(dim=-1)


def binary_cross_entropy(logits, targets):
    return F.binary_cross_entropy_with_logits(logits, targets)


def masked_mean(values, mask):
    chosen = values[mask]
    return chosen.mean() if chosen.numel() else chosen.sum()


def standardize(x, eps=1e-5):
    return F.layer_norm(x.T, (x.shape[0],), eps=eps).T


def distance(a, b):
    return torch.linalg.vector_norm(a - b, dim=-1)


def train_step(model, optimizer, scaler, inputs, targets, max_norm=1.0, ignore_index=-100):
    optimizer.zero_grad()
    logits = model(inputs)
    total = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=ignore_index, reduction="sum"
    )
    loss = total / (targets != ignore_index).sum().clamp(min=1)
    if not loss.isfinite():
        return None
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    finite = all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    if finite:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.item() if finite else None
