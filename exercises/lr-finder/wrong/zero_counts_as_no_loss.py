# fails: 3
# message: A lowest loss of exactly 0 is a lowest loss like any other
import math
import torch


def lr_range_test(model, loss_fn, batches, lr_min=1e-6, lr_max=1.0, num_steps=50, stop_factor=4.0):
    if lr_min <= 0 or lr_max <= lr_min or num_steps < 2:
        raise ValueError("bad rates")
    params = list(model.parameters())
    saved = {k: v.detach().clone() for k, v in model.named_parameters()}
    saved_b = {k: v.detach().clone() for k, v in model.named_buffers()}
    grads = [p.grad for p in params]
    for p in params:
        p.grad = None
    lrs = []
    losses = []
    it = iter(batches)
    best = None
    try:
        for i in range(num_steps):
            try:
                x, y = next(it)
            except StopIteration:
                it = iter(batches)
                try:
                    x, y = next(it)
                except StopIteration:
                    raise ValueError("no batches") from None
            lr = lr_min * (lr_max / lr_min) ** (i / (num_steps - 1))
            for p in params:
                p.grad = None
            loss = loss_fn(model(x), y)
            value = float(loss)
            if not math.isfinite(value) or (best and value > stop_factor * best):
                break
            best = value if best is None else min(best, value)
            lrs.append(lr)
            losses.append(value)
            loss.backward()
            with torch.no_grad():
                for p in params:
                    if p.grad is not None:
                        p -= lr * p.grad
    finally:
        with torch.no_grad():
            for k, v in model.named_parameters():
                v.copy_(saved[k])
            for k, v in model.named_buffers():
                v.copy_(saved_b[k])
        for p, g in zip(params, grads):
            p.grad = g
    return lrs, losses


def suggest_lr(lrs, losses, beta=0.0):
    if not 0 <= beta < 1:
        raise ValueError("beta")
    if len(lrs) != len(losses):
        raise ValueError("lengths")
    if len(lrs) < 2:
        raise ValueError("two points")
    s = 0.0
    smooth = []
    for i, loss in enumerate(losses):
        s = beta * s + (1 - beta) * loss
        smooth.append(s / (1 - beta ** (i + 1)))
    best = 1
    for i in range(1, len(smooth)):
        if smooth[i] - smooth[i - 1] < smooth[best] - smooth[best - 1]:
            best = i
    return lrs[best]
