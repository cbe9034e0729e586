"""Data-parallel training loop. Broken: it hangs, or ranks drift apart, once the
ranks' data differ.
"""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


def average_gradients(model: nn.Module) -> None:
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


def evaluate(model: nn.Module, val: tuple[Tensor, Tensor]) -> float:
    model.eval()
    x, y = val
    loss = F.mse_loss(model(x), y)
    dist.all_reduce(loss)
    return (loss / dist.get_world_size()).item()


def train(
    model: nn.Module,
    batches: Sequence[tuple[Tensor, Tensor]],
    val: tuple[Tensor, Tensor],
    *,
    lr: float,
    eval_every: int,
    target_loss: float = 0.0,
    on_eval: Callable[[int, float], None] | None = None,
) -> dict:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    iterations = skipped = 0
    val_losses = []
    model.train()
    for x, y in batches:
        iterations += 1
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        if not torch.isfinite(loss):
            skipped += 1
            continue
        loss.backward()
        average_gradients(model)
        optimizer.step()
        if dist.get_rank() == 0 and iterations % eval_every == 0:
            val_loss = evaluate(model, val)
            val_losses.append(val_loss)
            if on_eval is not None:
                on_eval(iterations, val_loss)
            if val_loss <= target_loss:
                break
    return {
        "iterations": iterations,
        "skipped": skipped,
        "val_losses": val_losses,
    }
