# fails: 12
# message: above 0 is valid
"""Select the counted rows once; both terms and the divisor then agree by construction.

The divergence is written with the teacher's own entropy, where 0 * log 0 counts as 0 (xlogy), so that
excluded classes stay finite.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer


def distillation_loss(
    student_logits: Tensor,
    teacher_logits: Tensor,
    labels: Tensor | None,
    temperature: float = 2.0,
    alpha: float = 0.5,
    ignore_index: int = -100,
) -> Tensor:
    """Mean of alpha * T^2 * KL(teacher || student) + (1 - alpha) * cross-entropy over the counted positions."""
    if temperature <= 1 or not 0 <= alpha <= 1:
        raise ValueError("temperature must be positive and alpha in [0, 1]")
    if student_logits.shape != teacher_logits.shape:
        raise ValueError("student and teacher logits differ in shape")
    if labels is None and alpha < 1:
        raise ValueError("alpha below 1 needs labels")
    if labels is not None and labels.shape != student_logits.shape[:-1]:
        raise ValueError("labels must have the shape of the logits without the classes")

    classes = student_logits.shape[-1]
    student = student_logits.reshape(-1, classes)
    teacher = teacher_logits.detach().reshape(-1, classes)
    if labels is not None:
        labels = labels.reshape(-1)
        counted = labels != ignore_index
        student, teacher, labels = student[counted], teacher[counted], labels[counted]
    if student.dtype in (torch.float16, torch.bfloat16):
        student, teacher = student.float(), teacher.float()
    if len(student) == 0:
        return student.sum()

    target = (teacher / temperature).softmax(-1)
    # The student's log-probability of an excluded class must not meet a 0 as an infinity.
    log_student = (student / temperature).log_softmax(-1)
    soft = (torch.xlogy(target, target) - torch.where(target > 0, target * log_student, 0.0)).sum(-1)
    loss = alpha * temperature**2 * soft.mean()
    if alpha < 1 and labels is not None:
        loss = loss + (1 - alpha) * F.cross_entropy(student, labels)
    return loss


def distill_step(
    student: nn.Module,
    teacher: nn.Module,
    optimizer: Optimizer,
    inputs: Tensor,
    labels: Tensor | None,
    temperature: float = 2.0,
    alpha: float = 0.5,
) -> float:
    """One optimizer step of the student; returns the loss before the step."""
    teacher.eval()
    with torch.no_grad():
        teacher_logits = teacher(inputs)
    student.train()
    optimizer.zero_grad()
    loss = distillation_loss(student(inputs), teacher_logits, labels, temperature, alpha)
    loss.backward()
    optimizer.step()
    return loss.item()
