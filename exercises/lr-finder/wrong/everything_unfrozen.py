# fails: 5
# message: requires_grad
import math
from collections.abc import Callable, Iterable, Sequence

import torch


def lr_range_test(
    model: torch.nn.Module,
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    lr_min: float = 1e-6,
    lr_max: float = 1.0,
    num_steps: int = 50,
    stop_factor: float = 4.0,
) -> tuple[list[float], list[float]]:
    """Run SGD with a growing rate; return rates and losses, and leave the model as it was."""
    if lr_min <= 0 or lr_max <= lr_min or num_steps < 2:
        raise ValueError("0 < lr_min < lr_max and num_steps >= 2 are needed")
    values = [(t, t.detach().clone()) for t in (*model.parameters(), *model.buffers())]
    grads = [(p, None if p.grad is None else p.grad.clone()) for p in model.parameters()]
    for p in model.parameters():
        p.requires_grad_(True)
    lrs: list[float] = []
    losses: list[float] = []
    try:
        stream = iter(batches)
        for step in range(num_steps):
            batch = next(stream, None)
            if batch is None:
                stream = iter(batches)
                batch = next(stream, None)
                if batch is None:
                    raise ValueError("there are no batches")
            x, y = batch
            model.zero_grad()
            loss = loss_fn(model(x), y)
            value = loss.item()
            if not math.isfinite(value) or (losses and value > stop_factor * min(losses)):
                break
            lr = lr_min * (lr_max / lr_min) ** (step / (num_steps - 1))
            lrs.append(lr)
            losses.append(value)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= lr * p.grad
    finally:
        with torch.no_grad():
            for tensor, value in values:
                tensor.copy_(value)
        for p, grad in grads:
            p.grad = grad
    return lrs, losses


def suggest_lr(lrs: Sequence[float], losses: Sequence[float], beta: float = 0.0) -> float:
    """The rate at the steepest fall of the smoothed losses."""
    if not 0 <= beta < 1:
        raise ValueError("beta must lie in [0, 1)")
    if len(lrs) != len(losses) or len(lrs) < 2:
        raise ValueError("two lists of the same length with at least two points are needed")
    average, smooth = 0.0, []
    for i, loss in enumerate(losses):
        average = beta * average + (1 - beta) * loss
        smooth.append(average / (1 - beta ** (i + 1)))
    changes = [after - before for before, after in zip(smooth, smooth[1:])]
    return lrs[1 + changes.index(min(changes))]
