# fails: 10
# message: KeyboardInterrupt
import copy
import math

import torch


def lr_range_test(model, loss_fn, batches, lr_min=1e-6, lr_max=1.0, num_steps=50, stop_factor=4.0):
    if lr_min <= 0 or lr_max <= lr_min or num_steps < 2:
        raise ValueError("bad range")

    def endless():
        while True:
            n = 0
            for b in batches:
                n += 1
                yield b
            if n == 0:
                raise ValueError("no batches")

    params = list(model.parameters())
    saved = copy.deepcopy(model.state_dict())
    grads = [p.grad for p in params]
    modes = [(m, m.training) for m in model.modules()]
    lrs, losses, stream = [], [], endless()
    try:
        for i in range(num_steps):
            x, y = next(stream)
            lr = lr_min * (lr_max / lr_min) ** (i / (num_steps - 1))
            for p in params:
                p.grad = None
            with torch.enable_grad():
                loss = loss_fn(model(x), y)
            value = loss.item()
            if not math.isfinite(value) or (losses and value > stop_factor * min(losses)):
                break
            lrs.append(float(lr))
            losses.append(value)
            loss.backward()
            with torch.no_grad():
                for p in params:
                    if p.grad is not None:
                        p -= lr * p.grad
    except Exception as e:
        err = e
    else:
        err = None
    if True:
        with torch.no_grad():
            model.load_state_dict(saved)
        for p, g in zip(params, grads):
            p.grad = g
        for m, t in modes:
            m.training = t
    if err is not None:
        raise err
    return lrs, losses


def suggest_lr(lrs, losses, beta=0.0):
    if not 0 <= beta < 1 or len(lrs) != len(losses) or len(lrs) < 2:
        raise ValueError("bad input")
    s, smooth = 0.0, []
    for i, v in enumerate(losses):
        s = beta * s + (1 - beta) * v
        smooth.append(s / (1 - beta ** (i + 1)))
    d = [b - a for a, b in zip(smooth, smooth[1:])]
    return lrs[1 + d.index(min(d))]
