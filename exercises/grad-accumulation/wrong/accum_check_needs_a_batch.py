# fails: 9
# message: without batches
import torch


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    if len(micro_batches) == 0:
        raise ValueError("no micro-batches")
    total = sum(len(x) for x, _ in micro_batches)
    optimizer.zero_grad()
    mean = 0.0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) * (len(x) / total)
        loss.backward()
        mean += loss.item()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return mean


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    steps = 0
    window = []
    for batch in loader:
        if accum_steps < 1:
            raise ValueError
        window.append(batch)
        if len(window) == accum_steps:
            accumulate_step(model, loss_fn, optimizer, window, max_norm)
            steps += 1
            window = []
    if window:
        accumulate_step(model, loss_fn, optimizer, window, max_norm)
        steps += 1
    return steps
