# fails: 12
# message: Only max_norm=None clips nothing
import math
import torch
from torch import Tensor, nn


def _device(model):
    p = next(model.parameters(), None)
    return p.device if p is not None else torch.device("cpu")


def evaluate(model, batches, loss_fn):
    modes = [(m, m.training) for m in model.modules()]
    device = _device(model)
    total = right = count = 0
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                n = len(y)
                total += float(loss_fn(logits, y)) * n
                right += int((logits.argmax(-1) == y).sum())
                count += n
    finally:
        for m, mode in modes:
            m.training = mode
    if not count:
        raise ValueError("no batches")
    return {"loss": total / count, "accuracy": right / count}


def fit(
    model,
    optimizer,
    train_batches,
    val_batches,
    loss_fn,
    *,
    epochs,
    accumulate=1,
    max_norm=None,
    scheduler=None,
):
    if epochs < 1 or accumulate < 1 or len(train_batches) == 0:
        raise ValueError("arguments")
    device = _device(model)
    history = []
    params = [p for g in optimizer.param_groups for p in g["params"]]
    for epoch in range(epochs):
        model.train()
        total, count, size = 0.0, 0, len(train_batches)
        with torch.enable_grad():
            optimizer.zero_grad()
            for i, (x, y) in enumerate(train_batches):
                x, y = x.to(device), y.to(device)
                start = i - i % accumulate
                window = min(accumulate, size - start)
                loss = loss_fn(model(x), y)
                value = loss.item()
                if not math.isfinite(value):
                    raise FloatingPointError(f"loss {value} in epoch {epoch}, batch {i}")
                (loss / window).backward()
                total += value * len(y)
                count += len(y)
                if i + 1 == start + window:
                    if max_norm:
                        nn.utils.clip_grad_norm_(params, max_norm)
                    optimizer.step()
                    if scheduler is not None:
                        scheduler.step()
                    optimizer.zero_grad()
        val = evaluate(model, val_batches, loss_fn)
        history.append(
            {
                "epoch": epoch,
                "train_loss": total / count,
                "val_loss": val["loss"],
                "val_accuracy": val["accuracy"],
            }
        )
    return history
