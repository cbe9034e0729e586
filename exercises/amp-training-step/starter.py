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
    """One optimizer step; returns {"loss": float, "grad_norm": float,
    "skipped": bool}.
    """
    raise NotImplementedError
