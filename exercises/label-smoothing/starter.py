import torch


def smooth_targets(
    targets: torch.Tensor,
    num_classes: int,
    eps: float = 0.1,
) -> torch.Tensor:
    """(N,) class indices to (N, K) float32 distributions mixed with the uniform
    one.
    """
    raise NotImplementedError


def smoothed_cross_entropy(
    logits: torch.Tensor,
    targets: torch.Tensor,
    eps: float = 0.1,
) -> torch.Tensor:
    """Mean cross-entropy of logits (N, K) against the smoothed targets, a
    scalar.
    """
    raise NotImplementedError


def loss_floor(num_classes: int, eps: float = 0.1) -> float:
    """The smallest value that smoothed_cross_entropy can take."""
    raise NotImplementedError
