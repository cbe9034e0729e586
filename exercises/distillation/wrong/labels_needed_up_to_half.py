# fails: 8
# message: must be refused
import torch
import torch.nn.functional as F


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    if not temperature > 0:
        raise ValueError("temperature must be positive")
    if not 0 <= alpha <= 1:
        raise ValueError("alpha must lie in [0, 1]")
    if student_logits.shape != teacher_logits.shape:
        raise ValueError("logits of different shapes")
    if labels is None and alpha <= 0.5:
        raise ValueError("labels are needed with alpha < 1")
    if labels is not None and labels.shape != student_logits.shape[:-1]:
        raise ValueError("labels do not fit the logits")
    low = (torch.float16, torch.bfloat16)
    s = student_logits.float() if student_logits.dtype in low else student_logits
    t = teacher_logits.detach()
    t = t.float() if t.dtype in low else t
    k = s.shape[-1]
    s, t = s.reshape(-1, k), t.reshape(-1, k)
    if labels is not None:
        y = labels.reshape(-1)
        keep = y != ignore_index
        s, t, y = s[keep], t[keep], y[keep]
    if len(s) == 0:
        return s.sum() * 0
    T = temperature
    p = F.softmax(t / T, dim=-1)
    soft = F.kl_div(F.log_softmax(s / T, dim=-1), p, reduction="none").sum(-1)
    loss = alpha * T**2 * soft.mean()
    if alpha < 1:
        loss = loss + (1 - alpha) * F.cross_entropy(s, y)
    return loss


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    student.train()
    teacher.eval()
    with torch.no_grad():
        target = teacher(inputs)
    optimizer.zero_grad()
    loss = distillation_loss(student(inputs), target, labels, temperature, alpha)
    loss.backward()
    optimizer.step()
    return loss.item()
