# fails: 8
# message: thousands of times too large
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities over the last dimension."""
    return F.log_softmax(logits, dim=-1)


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean of -[t log sigmoid(z) + (1 - t) log(1 - sigmoid(z))] over all elements."""
    return -(targets * F.logsigmoid(logits) + (1.0 - targets) * F.logsigmoid(-logits)).mean()


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values where the boolean mask is True, and 0 where nothing is selected."""
    return values.masked_fill(~mask, 0.0).sum() / mask.sum().clamp(min=1)


def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) for each column of a (batch, features) tensor, biased variance."""
    centred = x - x.mean(0)
    return centred / (centred.pow(2).mean(0) + eps).sqrt()


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance along the last dimension."""
    squared = (a - b).pow(2).sum(-1)
    apart = squared > 0
    return torch.where(apart, torch.where(apart, squared, 1.0).sqrt(), 0.0)


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    scaler: torch.amp.GradScaler,
    inputs: Tensor,
    targets: Tensor,
    max_norm: float = 1.0,
    ignore_index: int = -100,
) -> float | None:
    """One step on the mean cross-entropy of the targets that are not ignore_index.

    The true gradient is clipped to the global norm max_norm. Returns the loss, or None where a
    non-finite loss or gradient made the step impossible, which leaves the parameters unchanged.
    """
    optimizer.zero_grad()
    log_probs = log_softmax(model(inputs))
    mask = targets != ignore_index
    nll = -log_probs.gather(-1, targets.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
    loss = masked_mean(nll, mask)
    if not torch.isfinite(loss):
        return None
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.item() if torch.isfinite(norm) else None
