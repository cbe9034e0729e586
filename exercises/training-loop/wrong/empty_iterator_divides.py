# fails: 11
# message: an iterator that yields nothing
import math

import torch


def _device(model):
    return next(model.parameters()).device


def evaluate(model, batches, loss_fn):
    if not batches:
        raise ValueError("no batches")
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    device = _device(model)
    total, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            x, y = x.to(device), y.to(device)
            out = model(x)
            total += loss_fn(out, y).item() * len(y)
            correct += (out.argmax(-1) == y).sum().item()
            count += len(y)
    for m, t in modes:
        m.training = t
    return {"loss": total / count, "accuracy": correct / count}


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
        raise ValueError("bad arguments")
    device = _device(model)
    history = []
    n = len(train_batches)
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        model.zero_grad()
        total, count = 0.0, 0
        for i, (x, y) in enumerate(train_batches):
            x, y = x.to(device), y.to(device)
            start = i // accumulate * accumulate
            window = min(accumulate, n - start)
            loss = loss_fn(model(x), y)
            value = loss.item()
            if not math.isfinite(value):
                raise FloatingPointError(f"loss is {value} in epoch {epoch}, batch {i}")
            (loss / window).backward()
            total += value * len(y)
            count += len(y)
            if i + 1 == start + window:
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(
                        [p for g in optimizer.param_groups for p in g["params"]], max_norm
                    )
                optimizer.step()
                optimizer.zero_grad()
                if scheduler is not None:
                    scheduler.step()
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
