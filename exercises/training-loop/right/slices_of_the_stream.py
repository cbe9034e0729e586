"""Windows via itertools.islice; gradients divided before the step instead of the loss; enable_grad; inference off."""

import itertools

import torch


def _restore(saved):
    for module, flag in saved:
        module.training = flag


def evaluate(model, batches, loss_fn):
    dev = next(iter(model.parameters())).device
    saved = [(m, m.training) for m in model.modules()]
    losses, sizes, hits = [], [], []
    for m, _ in saved:
        m.training = False
    try:
        with torch.inference_mode():
            for inputs, targets in batches:
                out = model(inputs.to(dev))
                t = targets.to(dev)
                losses.append(loss_fn(out, t).double())
                sizes.append(t.numel())
                hits.append((out.argmax(dim=1) == t).float().mean().double())
    finally:
        _restore(saved)
    if not sizes:
        raise ValueError("evaluate needs at least one batch")
    w = torch.tensor(sizes, dtype=torch.float64)
    return {
        "loss": float(torch.stack(losses).cpu() @ w / w.sum()),
        "accuracy": float(torch.stack(hits).cpu() @ w / w.sum()),
    }


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
        raise ValueError("epochs")
    if accumulate < 1:
        raise ValueError("accumulate")
    if not len(train_batches):
        raise ValueError("train_batches")
    dev = next(iter(model.parameters())).device
    rows = []
    for epoch in range(epochs):
        for m in model.modules():
            m.training = True
        tally, count = 0.0, 0
        stream = enumerate(train_batches)
        with torch.enable_grad():
            while window := list(itertools.islice(stream, accumulate)):
                model.zero_grad(set_to_none=True)
                optimizer.zero_grad(set_to_none=True)
                for index, (inputs, targets) in window:
                    loss = loss_fn(model(inputs.to(dev)), targets.to(dev))
                    if not torch.isfinite(loss).all():
                        raise FloatingPointError(f"epoch {epoch} batch {index}: loss {float(loss)}")
                    loss.backward()
                    tally += float(loss.detach()) * len(targets)
                    count += len(targets)
                params = [p for p in model.parameters() if p.grad is not None]
                if len(window) > 1:
                    for p in params:
                        p.grad.div_(len(window))
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(params, max_norm)
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
        v = evaluate(model, val_batches, loss_fn)
        rows.append(
            dict(epoch=epoch, train_loss=tally / count, val_loss=v["loss"], val_accuracy=v["accuracy"])
        )
    return rows
