import torch
import torch.nn.functional as F


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    if temperature <= 0 or alpha < 0 or alpha > 1 or student_logits.size() != teacher_logits.size():
        raise ValueError("bad arguments")
    if labels is None and alpha != 1:
        raise ValueError("alpha")
    if labels is not None and tuple(labels.shape) != tuple(student_logits.shape[:-1]):
        raise ValueError("labels")
    wide = torch.promote_types(student_logits.dtype, torch.float32)
    s = student_logits.to(wide)
    t = teacher_logits.data.to(wide)
    counted = (
        torch.ones(s.shape[:-1], dtype=torch.bool, device=s.device)
        if labels is None
        else labels.ne(ignore_index)
    )

    def logp(z):
        return z - z.logsumexp(-1, keepdim=True)

    p = torch.softmax(t / temperature, -1)
    # KL = sum xlogy(p, p) - sum p log q, the first is a constant of the teacher
    soft = torch.special.entr(p).sum(-1).neg() - torch.einsum("...k,...k->...", p, logp(s / temperature))
    per = alpha * temperature * temperature * soft
    if labels is not None and alpha < 1:
        onehot = F.one_hot(labels.where(counted, torch.zeros_like(labels)), s.shape[-1]).to(wide)
        per = per - (1 - alpha) * (onehot * logp(s)).sum(-1)
    per = torch.where(counted, per, per.new_zeros(()))
    return per.sum() / counted.sum().clamp(min=1)


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    with torch.inference_mode():
        goal = teacher.train(False)(inputs)
    goal = goal.clone()
    value = []

    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = distillation_loss(student.train()(inputs), goal, labels, alpha=alpha, temperature=temperature)
        loss.backward()
        value.append(loss.detach())
        return loss

    optimizer.step(closure)
    return float(value[0])
