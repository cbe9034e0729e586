# fails: 8
# message: not from the first loss
"""Learning-rate range test (Smith, 2015)."""

from typing import Callable, Dict, Iterable, List, Optional, Sequence, Tuple
import math

import torch
from torch import nn


class _ModelSnapshot:
    """Captures everything needed to bring a model back to a known state."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.params: List[Tuple[nn.Parameter, torch.Tensor, Optional[torch.Tensor]]] = []
        for p in model.parameters():
            grad = None if p.grad is None else p.grad.detach().clone()
            self.params.append((p, p.detach().clone(), grad))
        self.buffers: List[Tuple[nn.Module, str, Optional[torch.Tensor], Optional[torch.Tensor]]] = []
        for module in model.modules():
            for name, buf in module._buffers.items():
                self.buffers.append((module, name, buf, None if buf is None else buf.detach().clone()))
        self.training: Dict[nn.Module, bool] = {m: m.training for m in model.modules()}

    def restore(self) -> None:
        with torch.no_grad():
            for p, value, grad in self.params:
                p.data.copy_(value)
                p.grad = grad
            for module, name, original, value in self.buffers:
                if original is None:
                    module._buffers[name] = None
                else:
                    original.copy_(value)
                    module._buffers[name] = original
        for m, flag in self.training.items():
            m.training = flag


def _validate(lr_min: float, lr_max: float, num_steps: int) -> None:
    if lr_min <= 0:
        raise ValueError("lr_min must be > 0")
    if lr_max <= lr_min:
        raise ValueError("lr_max must be > lr_min")
    if num_steps < 2:
        raise ValueError("num_steps must be >= 2")


def lr_range_test(
    model: nn.Module,
    loss_fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    batches: Iterable[Tuple[torch.Tensor, torch.Tensor]],
    lr_min: float = 1e-6,
    lr_max: float = 1.0,
    num_steps: int = 50,
    stop_factor: float = 4.0,
) -> Tuple[List[float], List[float]]:
    _validate(lr_min, lr_max, num_steps)
    probe = iter(batches)
    try:
        first = next(probe)
    except StopIteration:
        raise ValueError("batches must not be empty")

    snapshot = _ModelSnapshot(model)
    lrs: List[float] = []
    losses: List[float] = []
    best_loss = float("inf")
    log_min, log_max = math.log(lr_min), math.log(lr_max)
    try:
        batch = first
        for step in range(num_steps):
            if step > 0:
                try:
                    batch = next(probe)
                except StopIteration:
                    probe = iter(batches)
                    batch = next(probe)
            x, y = batch
            lr = math.exp(log_min + (log_max - log_min) * step / (num_steps - 1))
            for p in model.parameters():
                p.grad = None
            loss = loss_fn(model(x), y)
            loss_value = float(loss.item())
            if not math.isfinite(loss_value):
                break
            if loss_value > stop_factor * best_loss:
                break
            best_loss = min(best_loss, loss_value)
            lrs.append(float(lr))
            losses.append(loss_value)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is None:
                        continue
                    p.add_(p.grad, alpha=-lr)
    finally:
        snapshot.restore()
    return lrs, losses


def suggest_lr(lrs: Sequence[float], losses: Sequence[float], beta: float = 0.0) -> float:
    if not isinstance(beta, (int, float)) or not (0.0 <= beta < 1.0):
        raise ValueError("beta must be in [0, 1)")
    if len(lrs) != len(losses):
        raise ValueError("lrs and losses must have equal lengths")
    if len(lrs) < 2:
        raise ValueError("at least two points are required")
    smoothed: List[float] = []
    running = 0.0
    for idx, value in enumerate(losses):
        running = value if idx == 0 else beta * running + (1.0 - beta) * value
        smoothed.append(running)
    best_idx = 1
    best_change = smoothed[1] - smoothed[0]
    for idx in range(2, len(smoothed)):
        change = smoothed[idx] - smoothed[idx - 1]
        if change < best_change:
            best_change = change
            best_idx = idx
    return float(lrs[best_idx])
