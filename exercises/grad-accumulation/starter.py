"""Gradient accumulation: one optimizer step from several micro-batches."""

from collections.abc import Callable, Iterable, Sequence

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
    """One step as if the micro-batches were one batch; return the mean loss
    over all examples.
    """
    raise NotImplementedError


def train_epoch(
    model: torch.nn.Module,
    loss_fn: LossFn,
    optimizer: torch.optim.Optimizer,
    loader: Iterable[Batch],
    accum_steps: int,
    max_norm: float | None = None,
) -> int:
    """Step once per window of ``accum_steps`` batches; return the number of
    optimizer steps.
    """
    raise NotImplementedError
