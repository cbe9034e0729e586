import math

import torch


def distillation_loss(student_logits, teacher_logits, labels, temperature=2.0, alpha=0.5, ignore_index=-100):
    if temperature <= 0:
        raise ValueError("temperature must be > 0")
    if alpha < 0 or alpha > 1:
        raise ValueError("alpha must be in [0, 1]")
    if student_logits.size() != teacher_logits.size():
        raise ValueError("logits differ in shape")
    if labels is None and alpha != 1:
        raise ValueError("labels are needed")
    if labels is not None and labels.size() != student_logits.size()[:-1]:
        raise ValueError("labels have a wrong shape")

    k = student_logits.size(-1)
    student = student_logits.reshape(-1, k)
    teacher = teacher_logits.detach().clone().reshape(-1, k)
    if student.dtype == torch.float16 or student.dtype == torch.bfloat16:
        student = student.float()
        teacher = teacher.float()
    if labels is None:
        label_list = [0] * student.size(0)
        keep = [True] * student.size(0)
    else:
        label_list = labels.reshape(-1).tolist()
        keep = []
        for value in label_list:
            keep.append(value != ignore_index)

    total = student[0:0].sum()
    count = 0
    for row in range(student.size(0)):
        if not keep[row]:
            continue
        count = count + 1
        s = student[row]
        t = teacher[row].tolist()

        # teacher's distribution in plain numbers
        top = max(t)
        weights = []
        for value in t:
            weights.append(math.exp((value - top) / temperature))
        norm = sum(weights)

        shifted = s - s.max().detach()
        log_q = shifted / temperature - (shifted / temperature).exp().sum().log()
        log_q1 = shifted - shifted.exp().sum().log()
        soft = 0.0
        for c in range(k):
            p = weights[c] / norm
            if p > 0.0:
                log_p = (t[c] - top) / temperature - math.log(norm)
                soft = soft + p * (log_p - log_q[c])
        total = total + alpha * temperature * temperature * soft
        if labels is not None:
            total = total - (1.0 - alpha) * log_q1[label_list[row]]
    if count == 0:
        return total
    return total / count


def distill_step(student, teacher, optimizer, inputs, labels, temperature=2.0, alpha=0.5):
    student.train()
    teacher.eval()
    optimizer.zero_grad()
    wanted = []
    for p in teacher.parameters():
        wanted.append(p.requires_grad)
        p.requires_grad_(False)
    teacher_logits = teacher(inputs)
    for p, flag in zip(teacher.parameters(), wanted):
        p.requires_grad_(flag)
    student_logits = student(inputs)
    loss = distillation_loss(student_logits, teacher_logits.detach(), labels, temperature, alpha)
    loss.backward()
    optimizer.step()
    return float(loss.detach())
