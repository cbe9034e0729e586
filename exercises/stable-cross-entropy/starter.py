"""Softmax, logarithm and cross-entropy, fused."""

import torch


def log_softmax(logits: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """The logarithm of the softmax along ``dim``."""
    raise NotImplementedError


def cross_entropy(
    logits: torch.Tensor,
    targets: torch.Tensor,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> torch.Tensor:
    """Minus the log-probability of the target classes; ``reduction`` is "mean",
    "sum" or "none".
    """
    raise NotImplementedError
