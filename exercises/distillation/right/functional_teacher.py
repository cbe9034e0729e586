import torch
import torch.nn.functional as F


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    s, t = student_logits, teacher_logits.detach()
    if temperature <= 0 or not 0 <= alpha <= 1 or s.shape != t.shape:
        raise ValueError("bad temperature, alpha or shapes")
    if labels is None and alpha < 1 or labels is not None and labels.shape != s.shape[:-1]:
        raise ValueError("bad labels")
    if s.dtype in (torch.float16, torch.bfloat16):
        s = s.float()
    t = t.to(s.dtype)
    if labels is not None:
        keep = labels != ignore_index
        s, t, labels = s[keep], t[keep], labels[keep]
    s, t = s.reshape(-1, s.shape[-1]), t.reshape(-1, t.shape[-1])
    loss = (
        alpha
        * temperature**2
        * F.kl_div(F.log_softmax(s / temperature, -1), F.softmax(t / temperature, -1), reduction="sum")
    )
    if labels is not None:
        loss = loss + (1 - alpha) * F.cross_entropy(s, labels, reduction="sum", ignore_index=-1)
    return loss / max(len(s), 1)


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    student.train()
    teacher.eval()
    fixed = {k: v.detach() for k, v in [*teacher.named_parameters(), *teacher.named_buffers()]}
    target = torch.func.functional_call(teacher, fixed, (inputs,))
    loss = distillation_loss(student(inputs), target, labels, temperature, alpha)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
