# fails: 0
# message: try/except
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities over the last dimension."""
    return torch.log_softmax(logits, -1)


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean of -[t log sigmoid(z) + (1 - t) log(1 - sigmoid(z))] over all elements."""
    return F.binary_cross_entropy_with_logits(logits, targets)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values where the boolean mask is True, and 0 where nothing is selected."""
    return values.masked_fill(~mask, 0).sum() / mask.sum().clamp(min=1).to(values.dtype)


def standardize(x: Tensor, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) for each column of a (batch, features) tensor, biased variance."""
    x = x - x.mean(0)
    return x / (x.pow(2).mean(0) + eps).sqrt()


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance along the last dimension."""
    return torch.linalg.vector_norm(a - b, dim=-1)


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    scaler: torch.amp.GradScaler,
    inputs: Tensor,
    targets: Tensor,
    max_norm: float = 1.0,
    ignore_index: int = -100,
) -> float | None:
    """One step."""
    optimizer.zero_grad()
    log_probs = log_softmax(model(inputs))
    mask = targets != ignore_index
    nll = -log_probs.gather(-1, targets.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
    loss = masked_mean(nll, mask)
    if not loss.isfinite():
        return None
    try:
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm, error_if_nonfinite=True)
    except RuntimeError:
        scaler.step(optimizer)
        scaler.update()
        return None
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
