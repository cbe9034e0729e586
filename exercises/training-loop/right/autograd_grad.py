import itertools
import math

import torch


def evaluate(model, batches, loss_fn):
    flags = [m.training for m in model.modules()]
    where = next(iter(model.parameters())).device
    rows = []
    try:
        for m in model.modules():
            m.training = False
        with torch.no_grad():
            for x, y in batches:
                z = model(x.to(where))
                y = y.to(where)
                rows.append(
                    (y.numel(), loss_fn(z, y).double().item(), torch.eq(z.max(-1).indices, y).sum().item())
                )
    finally:
        for m, flag in zip(model.modules(), flags):
            m.training = flag
    if not rows:
        raise ValueError("no batches to evaluate")
    n = sum(r[0] for r in rows)
    return {"loss": math.fsum(r[0] * r[1] for r in rows) / n, "accuracy": sum(r[2] for r in rows) / n}


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
    """Gradients by autograd.grad, summed by hand, clipped by hand."""
    if min(epochs, accumulate, len(train_batches)) < 1:
        raise ValueError("epochs, accumulate and the number of batches are at least 1")
    params = [p for g in optimizer.param_groups for p in g["params"] if p.requires_grad]
    where = params[0].device
    out = []
    for epoch in range(epochs):
        model.train(True)
        seen = []
        stream = enumerate(iter(train_batches))
        while window := list(itertools.islice(stream, accumulate)):
            sums = [None] * len(params)
            for i, (x, y) in window:
                loss = loss_fn(model(x.to(where)), y.to(where))
                seen.append((float(loss.detach()), y.shape[0]))
                if math.isnan(seen[-1][0]) or math.isinf(seen[-1][0]):
                    raise FloatingPointError(f"the loss of epoch {epoch}, batch {i} is {seen[-1][0]}")
                for k, g in enumerate(torch.autograd.grad(loss, params, allow_unused=True)):
                    if g is not None:
                        sums[k] = g if sums[k] is None else sums[k] + g
            for p, s in zip(params, sums):
                p.grad = None if s is None else s / len(window)
            if max_norm is not None:
                norm = math.sqrt(
                    sum(p.grad.double().square().sum().item() for p in params if p.grad is not None)
                )
                if norm > max_norm:
                    for p in params:
                        if p.grad is not None:
                            p.grad.mul_(max_norm / (norm + 1e-6))
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
        for p in params:
            p.grad = None
        result = evaluate(model, val_batches, loss_fn)
        out.append(
            {
                "epoch": epoch,
                "train_loss": sum(a * b for a, b in seen) / sum(b for _, b in seen),
                "val_loss": result["loss"],
                "val_accuracy": result["accuracy"],
            }
        )
    return out
