# fails: 12
# message: no longer require grad
import torch
import torch.nn.functional as F


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    if alpha < 0 or alpha > 1:
        raise ValueError("alpha must be in [0, 1]")
    if student_logits.shape != teacher_logits.shape:
        raise ValueError("logits must have the same shape")
    if labels is None and alpha < 1:
        raise ValueError("labels are needed")
    if labels is not None and labels.shape != student_logits.shape[:-1]:
        raise ValueError("labels have the wrong shape")
    K = student_logits.shape[-1]
    s = student_logits.reshape(-1, K)
    if teacher_logits.is_leaf:
        teacher_logits.requires_grad_(False)
    t = teacher_logits.detach().reshape(-1, K)
    if s.dtype in (torch.float16, torch.bfloat16):
        s = s.float()
    t = t.to(s.dtype)
    if labels is not None:
        y = labels.reshape(-1)
        keep = y != ignore_index
        s, t, y = s[keep], t[keep], y[keep]
    n = s.shape[0]
    if n == 0:
        return s.sum() * 0.0
    log_p = F.log_softmax(s / temperature, dim=-1)
    q = F.softmax(t / temperature, dim=-1)
    soft = F.kl_div(log_p, q, reduction="none").sum(-1)
    loss = alpha * temperature**2 * soft
    if alpha < 1:
        loss = loss + (1 - alpha) * F.cross_entropy(s, y, reduction="none")
    return loss.mean()


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    student.train()
    teacher.eval()
    with torch.no_grad():
        teacher_logits = teacher(inputs)
    optimizer.zero_grad()
    loss = distillation_loss(student(inputs), teacher_logits, labels, temperature, alpha)
    loss.backward()
    optimizer.step()
    return loss.item()
