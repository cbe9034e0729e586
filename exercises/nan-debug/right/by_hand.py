import math

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def log_softmax(logits: Tensor) -> Tensor:
    shifted = logits - logits.detach().max(-1, keepdim=True).values
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    zero = torch.zeros_like(logits)
    return (torch.logaddexp(zero, logits) - targets * logits).mean()


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    kept = torch.where(mask, values, torch.zeros_like(values))
    return kept.sum() / max(1, int(mask.sum()))


def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    n = x.shape[0]
    centred = x - x.sum(dim=0, keepdim=True) / n
    variance = (centred * centred).sum(dim=0, keepdim=True) / n
    return centred * torch.rsqrt(variance + eps)


def distance(a: Tensor, b: Tensor) -> Tensor:
    return ((a - b).square().sum(dim=-1) + 1e-14).sqrt()


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    scaler: torch.amp.GradScaler,
    inputs: Tensor,
    targets: Tensor,
    max_norm: float = 1.0,
    ignore_index: int = -100,
) -> float | None:
    optimizer.zero_grad(set_to_none=True)
    log_probs = log_softmax(model(inputs))
    mask = targets != ignore_index
    index = torch.where(mask, targets, torch.zeros_like(targets))
    nll = -torch.gather(log_probs, -1, index[..., None])[..., 0]
    loss = masked_mean(nll, mask)
    value = loss.item()
    if math.isnan(value) or math.isinf(value):
        return None
    before = scaler.get_scale()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() < before:
        return None
    return value
