import torch
import torch.nn.functional as F
from torch import Tensor


def distillation_loss(
    student_logits: Tensor,
    teacher_logits: Tensor,
    labels: Tensor | None,
    temperature: float = 2.0,
    alpha: float = 0.5,
    ignore_index: int = -100,
) -> Tensor:
    """Masks instead of selecting: every position is computed, ignored ones are filled with zeros."""
    if temperature <= 0 or alpha < 0 or alpha > 1 or student_logits.shape != teacher_logits.shape:
        raise ValueError("bad temperature, alpha or shapes")
    if labels is None and alpha < 1:
        raise ValueError("labels are needed")
    if labels is not None and labels.shape != student_logits.shape[:-1]:
        raise ValueError("bad labels")
    if student_logits.dtype in (torch.half, torch.bfloat16):
        student_logits, teacher_logits = student_logits.float(), teacher_logits.float()
    student, teacher = student_logits, teacher_logits.detach()
    keep = torch.ones_like(student[..., 0], dtype=torch.bool) if labels is None else labels != ignore_index
    log_p = F.log_softmax(teacher / temperature, dim=-1)
    log_q = F.log_softmax(student / temperature, dim=-1)
    p = log_p.exp()
    gap = torch.where(p > 0, log_p - log_q, torch.zeros_like(log_q))
    position = alpha * temperature * temperature * (p * gap).sum(-1)
    if labels is not None and alpha < 1:
        safe = torch.where(keep, labels, torch.zeros_like(labels))
        nll = -F.log_softmax(student, dim=-1).gather(-1, safe.unsqueeze(-1)).squeeze(-1)
        position = position + (1 - alpha) * nll
    return position.masked_fill(~keep, 0.0).sum() / keep.sum().clamp(min=1)


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5) -> float:
    teacher.eval()
    student.train()
    optimizer.zero_grad(set_to_none=False)
    logits = student(inputs)
    with torch.no_grad():
        target = teacher(inputs)
    loss = distillation_loss(
        student_logits=logits, teacher_logits=target, labels=labels, temperature=temperature, alpha=alpha
    )
    value = loss.detach().cpu().item()
    loss.backward()
    optimizer.step()
    return value
