import torch
from torch.nn import functional as F


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    if not temperature > 0:
        raise ValueError("temperature")
    if alpha < 0 or alpha > 1:
        raise ValueError("alpha")
    if student_logits.size() != teacher_logits.size():
        raise ValueError("logits")
    if labels is None:
        if alpha != 1:
            raise ValueError("labels")
        mask = torch.ones(student_logits.shape[:-1], dtype=torch.bool, device=student_logits.device)
    else:
        if labels.size() != student_logits.size()[:-1]:
            raise ValueError("labels")
        mask = labels.ne(ignore_index)
    dtype = torch.promote_types(student_logits.dtype, torch.float32)
    student = student_logits[mask].to(dtype)
    teacher = teacher_logits[mask].detach().to(dtype)
    count = max(1, student.size(0))
    log_q = F.log_softmax(student / temperature, dim=-1)
    p = F.softmax(teacher / temperature, dim=-1)
    total = alpha * temperature**2 * F.kl_div(log_q, p, reduction="sum") / count
    if labels is not None:
        hard = F.cross_entropy(student, labels[mask], reduction="sum") / count
        total = total + (1 - alpha) * hard
    return total


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    student.train()
    teacher.train(False)
    with torch.inference_mode():
        targets = teacher(inputs)
    targets = targets.clone()
    out = student(inputs)
    loss = distillation_loss(out, targets, labels, temperature, alpha)
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None
    loss.backward()
    optimizer.step()
    return float(loss)
