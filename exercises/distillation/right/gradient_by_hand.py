import torch


class _Distil(torch.autograd.Function):
    """Rows (N, K), weights (N,) that sum to one; the gradient by hand in float64."""

    @staticmethod
    def forward(ctx, s, t, y, w, T, a):
        z, v = s.double(), t.double()
        lq, lp, lh = (z / T).log_softmax(1), (v / T).log_softmax(1), z.log_softmax(1)
        p = lp.exp()
        ent = torch.where(p > 0, p * lp, torch.zeros_like(p)).sum(1)
        soft = ent - (p * lq).sum(1)
        n = torch.arange(len(z), device=z.device)
        hard = -lh[n, y]
        grad = a * T * (lq.exp() - p)
        if a < 1:
            h = lh.exp()
            h[n, y] -= 1
            grad = grad + (1 - a) * h
        ctx.save_for_backward((grad * w[:, None]).to(s.dtype))
        per = a * T * T * soft + ((1 - a) * hard if a < 1 else 0)
        return (per * w).sum().to(s.dtype)

    @staticmethod
    def backward(ctx, g):
        return (ctx.saved_tensors[0] * g,) + (None,) * 5


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    if not temperature > 0:
        raise ValueError("temperature")
    if not (alpha >= 0 and alpha <= 1):
        raise ValueError("alpha")
    if tuple(student_logits.shape) != tuple(teacher_logits.shape):
        raise ValueError("shapes")
    if labels is None:
        if alpha < 1:
            raise ValueError("labels")
        labels = torch.full(student_logits.shape[:-1], ignore_index + 1, device=student_logits.device)
    elif labels.shape != student_logits.shape[:-1]:
        raise ValueError("labels")
    dtype = torch.promote_types(student_logits.dtype, torch.float32)
    k = student_logits.shape[-1]
    s = student_logits.to(dtype).reshape(-1, k)
    t = teacher_logits.detach().reshape(-1, k)
    y = labels.reshape(-1)
    w = (y != ignore_index).double()
    w = w / w.sum().clamp(min=1)
    on = w > 0
    y = torch.where(on, y, torch.zeros_like(y)) if alpha < 1 else torch.zeros_like(y)
    return _Distil.apply(s, t, y.long(), w, float(temperature), float(alpha))


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    def closure():
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = distillation_loss(student(inputs), target, labels, temperature, alpha)
        loss.backward()
        values.append(loss.item())
        return loss

    values = []
    teacher.train(False)
    student.train(True)
    with torch.no_grad():
        target = teacher(inputs)
    closure()
    optimizer.step()
    return values[0]
