# fails: 12
# message: extra dimension of 1
import torch


def _check(s, t, labels, T, alpha):
    if not T > 0 or not 0 <= alpha <= 1:
        raise ValueError("temperature/alpha")
    if s.numel() != t.numel():
        raise ValueError("shapes of logits")
    if labels is None:
        if alpha < 1:
            raise ValueError("labels needed")
    elif labels.shape != s.shape[:-1]:
        raise ValueError("shape of labels")


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    _check(student_logits, teacher_logits, labels, temperature, alpha)
    s, t = student_logits, teacher_logits.detach()
    if s.dtype in (torch.float16, torch.bfloat16):
        s = s.float()
    t = t.to(s.dtype)
    k = s.shape[-1]
    s, t = s.reshape(-1, k), t.reshape(-1, k)
    if labels is not None:
        y = labels.reshape(-1)
        keep = y != ignore_index
        s, t, y = s[keep], t[keep], y[keep]
    n = s.shape[0]
    if n == 0:
        return s.sum() * 0.0
    loss = s.new_zeros(())
    if alpha > 0:
        log_q = torch.log_softmax(s / temperature, -1)
        log_p = torch.log_softmax(t / temperature, -1)
        p = log_p.exp()
        terms = p * (log_p.masked_fill(p == 0, 0.0) - log_q)
        loss = loss + alpha * temperature**2 * terms.sum() / n
    if alpha < 1:
        hard = torch.logsumexp(s, -1) - s.gather(-1, y[:, None]).squeeze(-1)
        loss = loss + (1 - alpha) * hard.mean()
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
