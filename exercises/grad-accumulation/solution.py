"""Gradient accumulation: one optimizer step from several micro-batches.

Invariant: the mean over all N examples is the sum of the parts' means, each weighted with n_i / N. With that
factor applied before backward, .grad holds the large batch's gradient at the end (up to rounding), and memory for
activations is that of one micro-batch.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import torch

Batch = tuple[torch.Tensor, torch.Tensor]
LossFn = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def accumulate_step(
    model: torch.nn.Module,
    loss_fn: LossFn,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    max_norm: float | None = None,
) -> float:
    """One step as if the micro-batches were one batch; return the mean loss over all examples."""
    if len(micro_batches) == 0:
        raise ValueError("at least one micro-batch is needed")
    examples = sum(len(inputs) for inputs, _ in micro_batches)
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets) * (len(inputs) / examples)
        loss.backward()
        total += loss.item()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return total


def train_epoch(
    model: torch.nn.Module,
    loss_fn: LossFn,
    optimizer: torch.optim.Optimizer,
    loader: Iterable[Batch],
    accum_steps: int,
    max_norm: float | None = None,
) -> int:
    """Step once per window of ``accum_steps`` batches; return the number of optimizer steps."""
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")
    batches = iter(loader)
    steps = 0
    while window := list(islice(batches, accum_steps)):
        accumulate_step(model, loss_fn, optimizer, window, max_norm)
        steps += 1
    return steps
