import torch
from torch import nn


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    """Uses cross-entropy with soft targets and subtracts the teacher's entropy."""
    if temperature <= 0 or not (0.0 <= alpha <= 1.0):
        raise ValueError("temperature or alpha out of range")
    if student_logits.shape != teacher_logits.shape:
        raise ValueError("shapes differ")
    lead = student_logits.shape[:-1]
    if labels is None:
        if alpha < 1.0:
            raise ValueError("no labels")
    elif labels.shape != lead:
        raise ValueError("labels do not fit")
    k = student_logits.shape[-1]
    s = student_logits.reshape(-1, k)
    t = teacher_logits.detach().reshape(-1, k)
    index = torch.arange(len(s), device=s.device)
    if labels is not None:
        flat = labels.reshape(-1)
        index = index[flat != ignore_index]
        y = flat[index]
    s, t = s.index_select(0, index), t.index_select(0, index)
    if s.dtype != torch.float64:
        s, t = s.float(), t.float()
    if index.numel() == 0:
        return (s * 0).sum()
    target = torch.softmax(t / temperature, -1)
    entropy = torch.special.entr(target).sum(-1).mean()
    soft = nn.functional.cross_entropy(s / temperature, target) - entropy
    hard = nn.functional.cross_entropy(s, y) if alpha < 1 else 0.0
    return alpha * temperature**2 * soft + (1 - alpha) * hard


@torch.enable_grad()
def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    teacher = teacher.eval()
    student = student.train()
    optimizer.zero_grad()
    with torch.no_grad():
        teacher_out = teacher(inputs)
    loss = distillation_loss(student(inputs), teacher_out, labels, temperature, alpha)
    loss.backward()
    optimizer.step()
    return loss.item()
