# fails: 5
# message: 0 / 0 is NaN
import torch


def log_softmax(logits: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """The logarithm of the softmax along ``dim``."""
    shifted = logits - logits.detach().amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()


def cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, reduction: str = "mean", ignore_index: int = -100
) -> torch.Tensor:
    """Minus the log-probability of the target classes; ``reduction`` is "mean", "sum" or "none"."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"unknown reduction {reduction!r}")
    if targets.shape != logits.shape[:-1]:
        raise ValueError("targets must have the shape of logits without the last dimension")
    counted = targets != ignore_index
    if (counted & ((targets < 0) | (targets >= logits.shape[-1]))).any():
        raise ValueError("a target lies outside [0, C)")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    index = torch.where(counted, targets, 0)
    picked = log_softmax(logits).gather(-1, index.unsqueeze(-1)).squeeze(-1)
    losses = torch.where(counted, -picked, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / counted.sum()
