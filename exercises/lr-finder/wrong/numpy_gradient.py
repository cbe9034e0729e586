# fails: 8
# message: from i - 1 to i, not
"""torch.optim.SGD with the lr of its group set by hand; numpy for the curve."""

import itertools
import numpy as np
import torch


def _cycle(batches):
    seen = False
    for b in batches:
        seen = True
        yield b
    if not seen:
        raise ValueError("batches is empty")
    while True:
        yield from batches


def lr_range_test(model, loss_fn, batches, lr_min=1e-6, lr_max=1.0, num_steps=50, stop_factor=4.0):
    if lr_min <= 0 or lr_max <= lr_min or num_steps < 2:
        raise ValueError("need 0 < lr_min < lr_max and num_steps >= 2")
    state = {k: v.clone() if torch.is_tensor(v) else v for k, v in model.state_dict().items()}
    hidden = [b.clone() for b in model.buffers()]
    training = [m.training for m in model.modules()]
    grads = [p.grad for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=lr_min)
    opt.zero_grad(set_to_none=True)
    lrs, losses = [], []
    try:
        batch = _cycle(batches)
        for i in range(num_steps):
            lr = lr_min * (lr_max / lr_min) ** (i / (num_steps - 1))
            for g in opt.param_groups:
                g["lr"] = lr
            x, y = next(batch)
            loss = loss_fn(model(x), y)
            value = loss.item()
            if not np.isfinite(value):
                break
            if losses and value > stop_factor * min(losses):
                break
            lrs.append(lr)
            losses.append(value)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(state)
        with torch.no_grad():
            for b, s in zip(model.buffers(), hidden):
                b.copy_(s)
        for m, t in zip(model.modules(), training):
            m.training = t
        for p, g in zip(model.parameters(), grads):
            p.grad = g
    return lrs, losses


def suggest_lr(lrs, losses, beta=0.0):
    if not (0 <= beta < 1):
        raise ValueError("beta")
    if len(lrs) != len(losses) or len(losses) < 2:
        raise ValueError("lrs and losses must have the same length, at least 2")
    s = 0.0
    smooth = np.empty(len(losses))
    for i, l in enumerate(losses):
        s = beta * s + (1 - beta) * l
        smooth[i] = s / (1 - beta ** (i + 1))
    return lrs[int(np.argmin(np.gradient(smooth)))]
