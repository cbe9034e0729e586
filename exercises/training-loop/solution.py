"""A training loop with accumulation, clipping, a scheduler and validation.

Three levels: what belongs to a batch (loss, check, backward), to a window (clip, step, schedule, zero) and to an
epoch (modes, means). A window's size is known when it begins, so each loss is divided by it before backward.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def evaluate(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], loss_fn) -> dict[str, float]:
    """The mean "loss" and the "accuracy" over all samples."""
    device = next(model.parameters()).device
    modes = [(module, module.training) for module in model.modules()]
    loss_sum, correct, count = 0.0, 0, 0
    model.eval()
    try:
        with torch.no_grad():
            for inputs, targets in batches:
                inputs, targets = inputs.to(device), targets.to(device)
                logits = model(inputs)
                loss_sum += loss_fn(logits, targets).item() * len(targets)
                correct += (logits.argmax(dim=-1) == targets).sum().item()
                count += len(targets)
    finally:
        for module, training in modes:
            module.training = training
    if count == 0:
        raise ValueError("there is nothing to evaluate")
    return {"loss": loss_sum / count, "accuracy": correct / count}


def fit(
    model: nn.Module,
    optimizer: Optimizer,
    train_batches: Sequence[tuple[Tensor, Tensor]],
    val_batches: Iterable[tuple[Tensor, Tensor]],
    loss_fn,
    *,
    epochs: int,
    accumulate: int = 1,
    max_norm: float | None = None,
    scheduler=None,
) -> list[dict[str, float]]:
    """Train, and return "epoch", "train_loss", "val_loss" and "val_accuracy" of every epoch."""
    if epochs < 1 or accumulate < 1:
        raise ValueError("epochs and accumulate must be at least 1")
    total = len(train_batches)
    if total == 0:
        raise ValueError("train_batches is empty")
    device = next(model.parameters()).device
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    history = []
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        loss_sum, count = 0.0, 0
        for batch, (inputs, targets) in enumerate(train_batches):
            inputs, targets = inputs.to(device), targets.to(device)
            window_start = batch - batch % accumulate
            window = min(accumulate, total - window_start)
            loss = loss_fn(model(inputs), targets)
            value = loss.item()
            if not torch.isfinite(loss):
                raise FloatingPointError(f"loss is {value} in epoch {epoch}, batch {batch}")
            loss_sum += value * len(targets)
            count += len(targets)
            (loss / window).backward()
            if batch + 1 == window_start + window:
                if max_norm is not None:
                    nn.utils.clip_grad_norm_(trained, max_norm)
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
                optimizer.zero_grad()
        scores = evaluate(model, val_batches, loss_fn)
        history.append(
            {
                "epoch": epoch,
                "train_loss": loss_sum / count,
                "val_loss": scores["loss"],
                "val_accuracy": scores["accuracy"],
            }
        )
    return history
