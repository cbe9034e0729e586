# fails: 7
# message: param groups
import math
import torch


def _device(model):
    return next(model.parameters()).device


def evaluate(model, batches, loss_fn):
    modes = {m: m.training for m in model.modules()}
    device = _device(model)
    model.eval()
    total, correct, n = 0.0, 0, 0
    try:
        with torch.no_grad():
            for x, y in batches:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                total += loss_fn(logits, y).item() * len(y)
                correct += (logits.argmax(-1) == y).sum().item()
                n += len(y)
    finally:
        for m, mode in modes.items():
            m.training = mode
    if n == 0:
        raise ValueError("no batches")
    return {"loss": total / n, "accuracy": correct / n}


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
    nb = len(train_batches)
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        total, seen = 0.0, 0
        for i, (x, y) in enumerate(train_batches):
            x, y = x.to(device), y.to(device)
            window = min(accumulate, nb - i // accumulate * accumulate)
            loss = loss_fn(model(x), y)
            value = loss.item()
            if not math.isfinite(value):
                raise FloatingPointError(f"loss is {value} at epoch {epoch}, batch {i}")
            (loss / window).backward()
            total += value * len(y)
            seen += len(y)
            if (i + 1) % accumulate == 0 or i + 1 == nb:
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm)
                optimizer.step()
                optimizer.zero_grad()
                if scheduler is not None:
                    scheduler.step()
        val = evaluate(model, val_batches, loss_fn)
        history.append(
            {
                "epoch": epoch,
                "train_loss": total / seen,
                "val_loss": val["loss"],
                "val_accuracy": val["accuracy"],
            }
        )
    return history
