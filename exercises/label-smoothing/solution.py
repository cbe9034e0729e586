"""Cross-entropy is linear in the target: (1 - eps) of the hard loss plus eps of the mean over classes.

No (N, K) target is needed: the uniform part is the mean of the log-probabilities.
"""

import math

import torch


def _check(targets: torch.Tensor, num_classes: int, eps: float) -> None:
    if not 0 <= eps < 1:
        raise ValueError("eps must lie in [0, 1)")
    if targets.numel() and not (0 <= targets.min() and targets.max() < num_classes):
        raise ValueError("a target is no class")


def smooth_targets(targets: torch.Tensor, num_classes: int, eps: float = 0.1) -> torch.Tensor:
    """(N,) class indices to (N, K) float32 distributions mixed with the uniform one."""
    if num_classes < 2:
        raise ValueError("at least two classes are needed")
    _check(targets, num_classes, eps)
    off = eps / num_classes
    smooth = torch.full((len(targets), num_classes), off, dtype=torch.float32, device=targets.device)
    return smooth.scatter_(1, targets.unsqueeze(1), 1 - eps + off)


def smoothed_cross_entropy(logits: torch.Tensor, targets: torch.Tensor, eps: float = 0.1) -> torch.Tensor:
    """Mean cross-entropy of logits (N, K) against the smoothed targets, a scalar."""
    if len(logits) != len(targets):
        raise ValueError("logits and targets differ in length")
    _check(targets, logits.shape[1], eps)
    log_probs = logits.log_softmax(dim=1)
    hard = -log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
    uniform = -log_probs.mean(dim=1)
    return ((1 - eps) * hard + eps * uniform).mean()


def loss_floor(num_classes: int, eps: float = 0.1) -> float:
    """The smallest value that smoothed_cross_entropy can take."""
    if num_classes < 2 or not 0 <= eps < 1:
        raise ValueError("num_classes must be at least 2 and eps in [0, 1)")
    if eps == 0:
        return 0.0
    off = eps / num_classes
    on = 1 - eps + off
    return -(on * math.log(on) + (num_classes - 1) * off * math.log(off))
