"""Works on a copy of the model: the original has nothing to be restored."""

import copy
from itertools import chain, repeat

import numpy as np
import torch


def lr_range_test(model, loss_fn, batches, lr_min=1e-6, lr_max=1.0, num_steps=50, stop_factor=4.0):
    if not 0 < lr_min < lr_max:
        raise ValueError("rates")
    if num_steps < 2:
        raise ValueError("num_steps")
    trial = copy.deepcopy(model)
    optimizer = torch.optim.SGD(trial.parameters(), lr=lr_min)
    rates = np.geomspace(lr_min, lr_max, num_steps).tolist()
    if next(iter(batches), None) is None:
        raise ValueError("no batches")
    endless = chain.from_iterable(repeat(batches))
    losses, best = [], float("inf")
    for lr, (x, y) in zip(rates, endless):
        optimizer.zero_grad(set_to_none=True)
        for group in optimizer.param_groups:
            group["lr"] = lr
        loss = loss_fn(trial(x), y)
        if not torch.isfinite(loss) or loss.item() > stop_factor * best:
            break
        best = min(best, loss.item())
        losses.append(float(loss))
        loss.backward()
        optimizer.step()
    return rates[: len(losses)], losses


def suggest_lr(lrs, losses, beta=0.0):
    if beta < 0 or beta >= 1:
        raise ValueError("beta")
    if len(losses) < 2 or len(lrs) != len(losses):
        raise ValueError("points")
    s, smooth = 0.0, []
    for i, loss in enumerate(losses, 1):
        s = beta * s + (1 - beta) * loss
        smooth.append(s / (1 - beta**i))
    return float(lrs[int(np.argmin(np.diff(smooth))) + 1])
