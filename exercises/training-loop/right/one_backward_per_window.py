"""Adds the losses of a window and calls backward once; sums are float64 tensors without a graph."""

import torch


def evaluate(model, batches, loss_fn):
    device = [p.device for p in model.parameters()][0]
    flags = [m.training for m in model.modules()]
    sums = torch.zeros(3, dtype=torch.float64)
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        for m in model.modules():
            m.training = False
        for x, y in batches:
            scores = model(x.to(device))
            y = y.to(device)
            right = (torch.topk(scores, 1, dim=1).indices.squeeze(1) == y).sum()
            sums += torch.tensor(
                [loss_fn(scores, y).item() * len(y), right.item(), len(y)], dtype=torch.float64
            )
    finally:
        torch.set_grad_enabled(previous)
        for m, flag in zip(model.modules(), flags):
            m.training = flag
    loss, right, n = sums.tolist()
    if n == 0:
        raise ValueError("nothing to evaluate")
    return {"loss": loss / n, "accuracy": right / n}


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
    if min(epochs, accumulate, len(train_batches)) < 1:
        raise ValueError("epochs, accumulate and the number of batches must be positive")
    device = next(model.parameters()).device
    n, log = len(train_batches), []
    for epoch in range(epochs):
        model.train()
        total, samples, pending = torch.zeros((), dtype=torch.float64), 0, []
        for b, (x, y) in enumerate(train_batches):
            loss = loss_fn(model(x.to(device)), y.to(device))
            if not torch.isfinite(loss).item():
                raise FloatingPointError(f"non-finite loss: batch {b} of epoch {epoch}")
            total += loss.detach().cpu().double() * len(y)
            samples += len(y)
            pending.append(loss)
            if len(pending) == accumulate or b == n - 1:
                optimizer.zero_grad()
                torch.stack(pending).mean().backward()
                pending = []
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
        scores = evaluate(model, val_batches, loss_fn)
        log.append(
            {"epoch": epoch, "train_loss": (total / samples).item()}
            | {f"val_{k}": v for k, v in scores.items()}
        )
    return log
