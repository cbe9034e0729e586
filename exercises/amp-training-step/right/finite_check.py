import math
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
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    total_norm = nn.utils.get_total_norm(grads)
    if max_norm is not None:
        nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, total_norm)
    grad_norm = float(total_norm)
    scaler.step(optimizer)
    scaler.update()
    # The scaler skips exactly when a gradient is not finite, which the norm of all of them shows.
    skipped = scaler.is_enabled() and not math.isfinite(grad_norm)
    if lr_scheduler is not None and not skipped:
        lr_scheduler.step()
    return {"loss": total / len(micro_batches), "grad_norm": grad_norm, "skipped": skipped}
