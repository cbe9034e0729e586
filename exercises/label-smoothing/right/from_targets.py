import torch
import torch.nn.functional as F
from torch import Tensor


def smooth_targets(targets: Tensor, num_classes: int, eps: float = 0.1) -> Tensor:
    if eps < 0.0 or eps >= 1.0 or num_classes < 2:
        raise ValueError("bad eps or num_classes")
    if bool(((targets < 0) | (targets >= num_classes)).any()):
        raise ValueError("bad target")
    one_hot = F.one_hot(targets, num_classes).to(torch.float32)
    return one_hot * (1.0 - eps) + eps / num_classes


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, eps: float = 0.1) -> Tensor:
    if logits.size(0) != targets.size(0):
        raise ValueError("lengths differ")
    weights = smooth_targets(targets, logits.size(1), eps)
    return -(weights * F.log_softmax(logits, dim=-1)).sum(dim=-1).mean().to(logits.dtype)


def loss_floor(num_classes: int, eps: float = 0.1) -> float:
    row = smooth_targets(torch.tensor([0]), num_classes, eps)[0].double()
    return float(-torch.xlogy(row, row).sum())
