import math
from itertools import chain, islice

import torch


class NoBatches(ValueError):
    pass


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None) -> float:
    """Adds the parts up in buffers of its own and hands the sum over at the end."""
    sizes = [batch[0].shape[0] for batch in micro_batches]
    if len(sizes) == 0:
        raise NoBatches("nothing to accumulate")
    total = sum(sizes)
    params = [p for p in model.parameters() if p.requires_grad]
    sums = [torch.zeros_like(p) for p in params]
    losses = []
    for size, (inputs, targets) in zip(sizes, micro_batches):
        loss = loss_fn(model(inputs), targets)
        grads = torch.autograd.grad(loss, params)
        torch._foreach_add_(sums, grads, alpha=size / total)
        losses.append(loss.item() * size)
        del loss
    for p, grad in zip(params, sums):
        p.grad = grad
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(params, max_norm)
    optimizer.step()
    optimizer.zero_grad()
    return math.fsum(losses) / total


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None) -> int:
    if accum_steps < 1:
        raise NoBatches("accum_steps must be positive")
    iterator = iter(loader)
    steps = 0
    for first in iterator:
        window = tuple(chain([first], islice(iterator, accum_steps - 1)))
        accumulate_step(model, loss_fn, optimizer, window, max_norm=max_norm)
        steps += 1
    return steps
