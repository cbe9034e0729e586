# fails: 7
"""Knowledge distillation (Hinton et al., 2015)."""

from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Optimizer


def distillation_loss(
    student_logits: Tensor,
    teacher_logits: Tensor,
    labels: Optional[Tensor],
    temperature: float = 2.0,
    alpha: float = 0.5,
    ignore_index: int = -100,
) -> Tensor:
    # ---- validation ----
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    if not (0.0 <= alpha <= 1.0):
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    if student_logits.shape != teacher_logits.shape:
        raise ValueError("student and teacher logits must have the same shape")
    if labels is None and alpha < 1.0:
        raise ValueError("labels are required when alpha < 1")
    if labels is not None and labels.shape != student_logits.shape[:-1]:
        raise ValueError("labels shape must match logits shape without the class dimension")

    teacher_logits = teacher_logits.detach()
    if student_logits.dtype in (torch.float16, torch.bfloat16):
        student_logits = student_logits.float()
    teacher_logits = teacher_logits.to(student_logits.dtype)

    num_classes = student_logits.size(-1)
    student_flat = student_logits.reshape(-1, num_classes)
    teacher_flat = teacher_logits.view(-1, num_classes)

    if labels is not None:
        labels_flat = labels.reshape(-1)
        mask = labels_flat != ignore_index
    else:
        labels_flat = None
        mask = torch.ones(student_flat.size(0), dtype=torch.bool, device=student_flat.device)

    num_valid = mask.sum()
    if num_valid == 0:
        return (student_flat * 0.0).sum()

    student_valid = student_flat[mask]
    teacher_valid = teacher_flat[mask]

    soft = F.kl_div(
        F.log_softmax(student_valid / temperature, dim=-1),
        F.softmax(teacher_valid / temperature, dim=-1),
        reduction="batchmean",
    ) * (temperature**2)

    if alpha == 1.0 or labels_flat is None:
        return soft

    hard = F.cross_entropy(student_valid, labels_flat[mask])
    return alpha * soft + (1.0 - alpha) * hard


def distill_step(
    student: nn.Module,
    teacher: nn.Module,
    optimizer: Optimizer,
    inputs: Tensor,
    labels: Optional[Tensor],
    temperature: float = 2.0,
    alpha: float = 0.5,
) -> float:
    student.train()
    teacher.eval()

    with torch.no_grad():
        teacher_logits = teacher(inputs)

    optimizer.zero_grad()
    student_logits = student(inputs)
    loss = distillation_loss(student_logits, teacher_logits, labels, temperature=temperature, alpha=alpha)
    loss.backward()
    optimizer.step()
    return loss.item()
