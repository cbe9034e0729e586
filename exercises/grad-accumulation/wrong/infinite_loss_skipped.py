# fails: 3
# message: infinite too
from itertools import islice

import torch


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    if not len(micro_batches):
        raise ValueError("no micro-batches")
    n = sum(x.shape[0] for x, _ in micro_batches)
    optimizer.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) * (x.shape[0] / n)
        loss.backward()
        total += loss.item()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None):
        optimizer.step()
    return total


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    it, steps = iter(loader), 0
    while window := list(islice(it, accum_steps)):
        accumulate_step(model, loss_fn, optimizer, window, max_norm)
        steps += 1
    return steps
