"""Numerics and training step of a small sequence tagger.

The mathematics in the docstrings is right; the code fails on hard inputs.
Repair it with small changes: keep every name, argument, default and docstring,
and the results on easy inputs.
"""

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities over the last dimension."""
    exp = logits.exp()
    return (exp / exp.sum(-1, keepdim=True)).log()


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean of -[t log sigmoid(z) + (1 - t) log(1 - sigmoid(z))] over all
    elements.
    """
    p = torch.sigmoid(logits)
    positive = p.log().clamp(min=-100.0)
    negative = (1.0 - p).log().clamp(min=-100.0)
    return -(targets * positive + (1.0 - targets) * negative).mean()


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values where the boolean mask is True, and 0 where nothing is
    selected.
    """
    weights = mask.to(values.dtype)
    return (values * weights).sum() / weights.sum()


def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) for each column of a (batch, features)
    tensor, biased variance.
    """
    mean = x.mean(0)
    std = (x.pow(2).mean(0) - mean.pow(2)).sqrt()
    return (x - mean) / (std + eps)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance along the last dimension."""
    return (a - b).pow(2).sum(-1).sqrt()


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    scaler: torch.amp.GradScaler,
    inputs: Tensor,
    targets: Tensor,
    max_norm: float = 1.0,
    ignore_index: int = -100,
) -> float | None:
    """One step on the mean cross-entropy of the targets besides ignore_index.

    The true gradient is clipped to the global norm max_norm. Returns the loss,
    or None where a non-finite loss or gradient made the step impossible, which
    leaves the parameters unchanged.
    """
    optimizer.zero_grad()
    log_probs = log_softmax(model(inputs))
    mask = targets != ignore_index
    picked = targets.masked_fill(~mask, 0).unsqueeze(-1)
    nll = -log_probs.gather(-1, picked).squeeze(-1)
    loss = masked_mean(nll, mask)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
