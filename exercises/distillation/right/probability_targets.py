import torch
import torch.nn.functional as F


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    # cross_entropy with probabilities minus the teacher's entropy
    if temperature <= 0 or alpha < 0 or alpha > 1:
        raise ValueError("temperature or alpha")
    if student_logits.shape != teacher_logits.shape:
        raise ValueError("logits")
    if labels is None and alpha != 1:
        raise ValueError("labels")
    if labels is not None and labels.shape != student_logits.shape[:-1]:
        raise ValueError("labels")
    if student_logits.dtype in (torch.float16, torch.bfloat16):
        student_logits = student_logits.float()
    teacher_logits = teacher_logits.detach().to(student_logits.dtype)
    if labels is None:
        count = torch.ones(student_logits.shape[:-1], dtype=torch.bool, device=student_logits.device)
    else:
        count = labels.ne(ignore_index)
    s, t = student_logits[count], teacher_logits[count]
    n = max(s.shape[0], 1)
    if len(s) == 0:
        return s.sum() * 0
    q = torch.distributions.Categorical(logits=t / temperature).probs
    soft = F.cross_entropy(s / temperature, q, reduction="sum") + torch.special.entr(q).sum().neg()
    hard = F.cross_entropy(s, labels[count].long(), reduction="sum") if labels is not None else s.sum() * 0
    return (alpha * temperature**2 * soft + (1 - alpha) * hard) / n


@torch.no_grad()
def _targets(teacher, inputs):
    return teacher.eval()(inputs)


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    student.train()
    loss = distillation_loss(student(inputs), _targets(teacher, inputs), labels, temperature, alpha)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach().cpu().item()
