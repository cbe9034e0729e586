from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

logger = logging.getLogger(__name__)
Batch = tuple[Tensor, Tensor]


@dataclass(slots=True)
class Average:
    total: float = 0.0
    weight: int = 0

    def add(self, value: float, n: int) -> None:
        self.total += value * n
        self.weight += n

    @property
    def value(self) -> float:
        return self.total / self.weight


@contextlib.contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    was = {m: m.training for m in model.modules()}
    try:
        model.eval()
        with torch.inference_mode():
            yield
    finally:
        for m, mode in was.items():
            m.training = mode


def _device_of(model: nn.Module) -> torch.device:
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def evaluate(
    model: nn.Module, batches: Iterable[Batch], loss_fn: Callable[[Tensor, Tensor], Tensor]
) -> dict[str, float]:
    loss, hits = Average(), Average()
    with _evaluating(model):
        for inputs, targets in batches:
            inputs, targets = (
                inputs.to(_device_of(model), non_blocking=True),
                targets.to(_device_of(model), non_blocking=True),
            )
            logits = model(inputs)
            loss.add(float(loss_fn(logits, targets)), targets.shape[0])
            hits.add((logits.argmax(dim=1) == targets).float().mean().item(), targets.shape[0])
    if not loss.weight:
        raise ValueError("evaluate needs at least one batch")
    return {"loss": loss.value, "accuracy": hits.value}


@dataclass
class _Trainer:
    model: nn.Module
    optimizer: Optimizer
    loss_fn: Callable[[Tensor, Tensor], Tensor]
    accumulate: int
    max_norm: float | None
    scheduler: Any
    meter: Average = field(default_factory=Average)

    def window(self, epoch: int, first: int, batches: list[Batch]) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        for offset, (inputs, targets) in enumerate(batches):
            device = _device_of(self.model)
            loss = self.loss_fn(self.model(inputs.to(device)), targets.to(device))
            if not torch.isfinite(loss):
                raise FloatingPointError(f"epoch {epoch}, batch {first + offset}: loss {float(loss)}")
            loss.backward()
            self.meter.add(loss.detach().item(), len(targets))
        params = [p for g in self.optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad.div_(len(batches))
        if self.max_norm is not None and params:
            norm = nn.utils.clip_grad_norm_(params, self.max_norm)
            logger.debug("norm %s", norm)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()

    @torch.enable_grad()
    def epoch(self, number: int, batches: Sequence[Batch]) -> float:
        self.meter = Average()
        self.model.train()
        held: list[Batch] = []
        done = 0
        for batch in batches:
            held.append(batch)
            if len(held) == self.accumulate:
                self.window(number, done, held)
                done += len(held)
                held = []
        if held:
            self.window(number, done, held)
        return self.meter.value


def fit(
    model: nn.Module,
    optimizer: Optimizer,
    train_batches: Sequence[Batch],
    val_batches: Iterable[Batch],
    loss_fn,
    *,
    epochs: int,
    accumulate: int = 1,
    max_norm: float | None = None,
    scheduler=None,
    on_epoch: Callable[[dict], None] | None = None,
) -> list[dict[str, float]]:
    if epochs < 1:
        raise ValueError(f"epochs={epochs}")
    if accumulate < 1:
        raise ValueError(f"accumulate={accumulate}")
    if not len(train_batches):
        raise ValueError("train_batches is empty")
    trainer = _Trainer(model, optimizer, loss_fn, accumulate, max_norm, scheduler)
    history = []
    for epoch in range(epochs):
        train_loss = trainer.epoch(epoch, train_batches)
        val = evaluate(model, val_batches, loss_fn)
        history.append(
            {
                "epoch": epoch,
                "train_loss": train_loss,
                "val_loss": val["loss"],
                "val_accuracy": val["accuracy"],
            }
        )
        if on_epoch is not None:
            on_epoch(history[-1])
    return history
