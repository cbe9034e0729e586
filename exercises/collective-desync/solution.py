"""Data-parallel training loop in which every rank makes the same collective calls.

Invariant: whatever changes control flow (are there batches left, is this loss usable, do we stop) is reduced
first and then decided on the shared value. Over the ranks only sums and counts are added, so a rank without data
contributes zero to both.
"""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


def shared(values: list[float], device: torch.device, op: dist.ReduceOp = dist.ReduceOp.SUM) -> list[float]:
    """Reduce a few numbers over all ranks."""
    message = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(message, op=op)
    return message.tolist()


def average_gradients(model: nn.Module, samples: float) -> None:
    """Divide the summed gradients by the samples of all ranks; a missing one counts as zero."""
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= samples


@torch.no_grad()
def evaluate(model: nn.Module, val: tuple[Tensor, Tensor], device: torch.device) -> float:
    """Mean validation loss over the samples of all ranks."""
    x, y = val
    model.eval()
    total = F.mse_loss(model(x), y).item() * len(x) if len(x) else 0.0
    model.train()
    total, samples = shared([total, len(x)], device)
    return total / samples


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
    """Train by SGD on the joined batches of all ranks until the rank with most batches has run out."""
    if eval_every < 1:
        raise ValueError("eval_every must be at least 1")
    device = next(model.parameters()).device
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    iterations = skipped = 0
    val_losses = []
    (longest,) = shared([len(batches)], device, dist.ReduceOp.MAX)
    model.train()
    for index in range(int(longest)):
        iterations += 1
        optimizer.zero_grad()
        samples, unusable = 0, False
        if index < len(batches):
            x, y = batches[index]
            samples = len(x)
            loss = F.mse_loss(model(x), y)
            unusable = not torch.isfinite(loss)
            if not unusable:
                (loss * samples).backward()
        all_samples, any_unusable = shared([samples, unusable], device)
        if any_unusable:
            skipped += 1
        else:
            average_gradients(model, all_samples)
            optimizer.step()
        if iterations % eval_every == 0:
            val_loss = evaluate(model, val, device)
            val_losses.append(val_loss)
            if dist.get_rank() == 0 and on_eval is not None:
                on_eval(iterations, val_loss)
            if val_loss <= target_loss:
                break
    return {"iterations": iterations, "skipped": skipped, "val_losses": val_losses}
