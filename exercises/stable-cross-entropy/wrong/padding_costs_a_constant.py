# fails: 5
# message: in the dtype of the logits
"""Numerically stable log-softmax and cross-entropy."""

import torch


def log_softmax(logits: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Numerically stable log-softmax."""
    max_vals = logits.max(dim=dim, keepdim=True).values.detach()
    # Guard against rows that are entirely -inf
    max_vals = torch.where(torch.isinf(max_vals), torch.zeros_like(max_vals), max_vals)
    shifted = logits - max_vals
    log_sum_exp = torch.log(torch.exp(shifted).sum(dim=dim, keepdim=True))
    return shifted - log_sum_exp


def cross_entropy(
    logits: torch.Tensor,
    targets: torch.Tensor,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> torch.Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"Unknown reduction: {reduction}")
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"Expected targets of shape {logits.shape[:-1]}, got {targets.shape}")
    num_classes = logits.shape[-1]
    valid = targets != ignore_index
    if bool((((targets < 0) | (targets >= num_classes)) & valid).any()):
        raise ValueError("targets out of range")

    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.to(torch.float32)

    log_probs = log_softmax(logits, dim=-1)
    safe_targets = torch.where(valid, targets, torch.zeros_like(targets))
    losses = -torch.gather(log_probs, -1, safe_targets.unsqueeze(-1)).squeeze(-1)
    losses = torch.where(valid, losses, torch.zeros_like(losses))

    if reduction == "none":
        return losses
    total = losses.sum()
    if reduction == "sum":
        return total
    count = valid.sum()
    if count == 0:
        return torch.tensor(0.0)
    return total / count
