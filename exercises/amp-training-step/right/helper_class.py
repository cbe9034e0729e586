"""One optimizer step in mixed precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


@dataclass(frozen=True)
class StepReport:
    loss: float
    grad_norm: float
    skipped: bool


class _Step:
    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        scaler: torch.amp.GradScaler,
        max_norm: float | None,
        amp_dtype: torch.dtype,
    ) -> None:
        self._model = model
        self._optimizer = optimizer
        self._scaler = scaler
        self._scale = scaler.get_scale()
        self._max_norm = max_norm
        self._dtype = amp_dtype

    def _trained(self) -> Iterator[nn.Parameter]:
        for group in self._optimizer.param_groups:
            yield from (p for p in group["params"] if p.grad is not None)

    def accumulate(
        self,
        batches: Sequence[tuple[Tensor, Tensor]],
        loss_fn: Callable[[Tensor, Tensor], Tensor],
    ) -> float:
        losses: list[Tensor] = []
        for inputs, targets in batches:
            with torch.autocast(device_type=inputs.device.type, dtype=self._dtype):
                loss = loss_fn(self._model(inputs), targets) / len(batches)
            self._scaler.scale(loss).backward()
            losses.append(loss.detach().float())
        return math.fsum(loss.item() for loss in losses)

    def clip(self) -> float:
        parameters = list(self._trained())
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self._max_norm is not None:
            nn.utils.clip_grads_with_norm_(parameters, self._max_norm, norm)
        return float(norm)

    def apply(self) -> bool:
        """Step and update; True where the scaler refused the step."""

        self._scaler.step(self._optimizer)
        self._scaler.update()
        return self._scaler.is_enabled() and self._scaler.get_scale() < self._scale


def amp_step(
    model: nn.Module,
    optimizer: Optimizer,
    scaler: torch.amp.GradScaler,
    micro_batches: Sequence[tuple[Tensor, Tensor]],
    loss_fn: Callable[[Tensor, Tensor], Tensor],
    *,
    max_norm: float | None = 1.0,
    amp_dtype: torch.dtype = torch.float16,
    lr_scheduler: LRScheduler | None = None,
) -> dict[str, float | bool]:
    batches = tuple(micro_batches)
    if not batches:
        raise ValueError("amp_step needs at least one micro-batch")
    model.train()
    optimizer.zero_grad(set_to_none=True)
    step = _Step(model, optimizer, scaler, max_norm, amp_dtype)
    loss = step.accumulate(batches, loss_fn)
    scaler.unscale_(optimizer)
    norm = step.clip()
    skipped = step.apply()
    if lr_scheduler is not None and not skipped:
        lr_scheduler.step()
    return asdict(StepReport(loss, norm, skipped))
