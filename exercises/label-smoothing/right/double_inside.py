import math

import torch


def smooth_targets(targets: torch.Tensor, num_classes: int, eps: float = 0.1) -> torch.Tensor:
    if num_classes < 2:
        raise ValueError
    if not 0 <= eps < 1:
        raise ValueError
    if (targets < 0).any() or (targets >= num_classes).any():
        raise ValueError
    eye = torch.eye(num_classes, dtype=torch.float64, device=targets.device)
    return torch.lerp(eye[targets], torch.full_like(eye[targets], 1 / num_classes), eps).float()


def smoothed_cross_entropy(logits: torch.Tensor, targets: torch.Tensor, eps: float = 0.1) -> torch.Tensor:
    if targets.numel() != logits.shape[0]:
        raise ValueError
    target = smooth_targets(targets, logits.shape[-1], eps).double()
    rows = torch.einsum("nk,nk->n", target, -torch.log_softmax(logits.double(), -1))
    return rows.mean().to(logits.dtype)


def loss_floor(num_classes: int, eps: float = 0.1) -> float:
    if num_classes < 2 or eps < 0 or eps >= 1:
        raise ValueError
    if not eps:
        return 0.0
    off = eps / num_classes
    return -math.log1p(off - eps) * (1 - eps + off) - (eps - off) * math.log(off)
