"""Order is the invariant: everything that compares with a true gradient comes after unscale_.

Host synchronisations: one per micro-batch for its loss; per step one for the norm, two for get_scale() and those of
the scaler.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


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
    """One optimizer step; returns {"loss": float, "grad_norm": float, "skipped": bool}."""
    if len(micro_batches) == 0:
        raise ValueError("at least one micro-batch is needed")
    model.train()
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, dtype=amp_dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss / len(micro_batches)).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    limit = float("inf") if max_norm is None else max_norm
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), limit).item()
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = scaler.get_scale() < before
    if lr_scheduler is not None and not skipped:
        lr_scheduler.step()
    return {"loss": total / len(micro_batches), "grad_norm": grad_norm, "skipped": skipped}
