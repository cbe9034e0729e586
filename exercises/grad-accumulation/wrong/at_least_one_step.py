# fails: 10
# message: No batches
import itertools
import torch


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    micro_batches = list(micro_batches)
    if not micro_batches:
        raise ValueError("empty")
    total = sum(x.shape[0] for x, _ in micro_batches)
    optimizer.zero_grad()
    value = 0.0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) * (x.shape[0] / total)
        loss.backward()
        value += loss.item()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return value


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    it = iter(loader)
    steps = 0
    while window := list(itertools.islice(it, accum_steps)):
        accumulate_step(model, loss_fn, optimizer, window, max_norm)
        steps += 1
    return max(steps, 1)
