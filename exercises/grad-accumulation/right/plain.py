from typing import Callable, Iterable, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

Batch = Tuple[Tensor, Tensor]


def accumulate_step(
    model: nn.Module,
    loss_fn: Callable[[Tensor, Tensor], Tensor],
    optimizer: Optimizer,
    micro_batches: Sequence[Batch],
    max_norm: Optional[float] = None,
) -> float:
    batches = list(micro_batches)
    if batches == []:
        raise ValueError("micro_batches is empty")
    number = sum(targets.shape[0] for _, targets in batches)
    for parameter in model.parameters():
        parameter.grad = None
    mean = torch.zeros((), dtype=torch.float64)
    for inputs, targets in batches:
        share = inputs.shape[0] / number
        loss = loss_fn(model(inputs), targets)
        (share * loss).backward()
        mean += share * loss.detach().cpu()
    if max_norm:
        nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm, norm_type=2.0)
    optimizer.step()
    return mean.item()


def train_epoch(model, loss_fn, optimizer, loader: Iterable[Batch], accum_steps: int, max_norm=None) -> int:
    if not accum_steps >= 1:
        raise ValueError("accum_steps")
    everything = list(loader)
    starts = range(0, len(everything), accum_steps)
    for start in starts:
        accumulate_step(model, loss_fn, optimizer, everything[start : start + accum_steps], max_norm)
    return len(starts)
