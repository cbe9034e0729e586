# fails: 1
# message: token ids
import math
import torch


def _device(model):
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def evaluate(model, batches, loss_fn):
    modes = [(m, m.training) for m in model.modules()]
    device = _device(model)
    total, right, count = 0.0, 0, 0
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                x, y = x.to(next(model.parameters())), y.to(device)
                out = model(x)
                total += loss_fn(out, y).item() * len(y)
                right += (out.argmax(-1) == y).sum().item()
                count += len(y)
    finally:
        for m, mode in modes:
            m.training = mode
    if count == 0:
        raise ValueError("no batches to evaluate")
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
    if epochs < 1:
        raise ValueError("epochs must be at least 1")
    if accumulate < 1:
        raise ValueError("accumulate must be at least 1")
    n = len(train_batches)
    if n == 0:
        raise ValueError("train_batches is empty")
    device = _device(model)
    history = []
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        total, count = 0.0, 0
        for i, (x, y) in enumerate(train_batches):
            x, y = x.to(next(model.parameters())), y.to(device)
            start = i // accumulate * accumulate
            size = min(accumulate, n - start)
            with torch.enable_grad():
                loss = loss_fn(model(x), y)
                value = loss.item()
                if not math.isfinite(value):
                    raise FloatingPointError(f"loss is {value} in epoch {epoch}, batch {i}")
                (loss / size).backward()
            total += value * len(y)
            count += len(y)
            if i + 1 == start + size:
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(
                        [p for g in optimizer.param_groups for p in g["params"]], max_norm
                    )
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
                optimizer.zero_grad()
        scores = evaluate(model, val_batches, loss_fn)
        history.append(
            {
                "epoch": epoch,
                "train_loss": total / count,
                "val_loss": scores["loss"],
                "val_accuracy": scores["accuracy"],
            }
        )
    return history
