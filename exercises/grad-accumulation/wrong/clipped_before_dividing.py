# fails: 4
# message: before it was divided
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

Batch = tuple[Tensor, Tensor]


def _windows(loader: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    window: list[Batch] = []
    for batch in loader:
        window.append(batch)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def accumulate_step(
    model: torch.nn.Module,
    loss_fn: Callable[[Tensor, Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[Batch],
    max_norm: float | None = None,
) -> float:
    if len(micro_batches) == 0:
        raise ValueError("micro_batches is empty")
    optimizer.zero_grad(set_to_none=True)
    examples = 0
    loss_sum = 0.0
    for inputs, targets in micro_batches:
        count = inputs.shape[0]
        loss = loss_fn(model(inputs), targets) * count
        loss.backward()
        loss_sum += float(loss.detach())
        examples += count
    params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if max_norm is not None:
        norm = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in params]))
        scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for p in params:
            p.grad.mul_(scale)
    for p in params:
        p.grad /= examples
    optimizer.step()
    return loss_sum / examples


def train_epoch(
    model: torch.nn.Module,
    loss_fn: Callable[[Tensor, Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    loader: Iterable[Batch],
    accum_steps: int,
    max_norm: float | None = None,
) -> int:
    if accum_steps < 1:
        raise ValueError(f"accum_steps must be positive, got {accum_steps}")
    return sum(
        isinstance(accumulate_step(model, loss_fn, optimizer, w, max_norm), float)
        for w in _windows(loader, accum_steps)
    )
