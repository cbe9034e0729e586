"""Collects the batches of a window, adds up gradients and divides them at the end."""

import math
from itertools import islice

import torch


def _device(model):
    return next(iter(model.parameters())).device


@torch.inference_mode()
def evaluate(model, batches, loss_fn):
    was = {name: module.training for name, module in model.named_modules()}
    model.eval()
    losses, hits, sizes = [], [], []
    for x, y in batches:
        out = model(x.to(_device(model)))
        y = y.to(_device(model))
        losses.append(float(loss_fn(out, y)) * y.shape[0])
        hits.append(int(torch.eq(out.max(1).indices, y).sum()))
        sizes.append(y.shape[0])
    for name, module in model.named_modules():
        module.training = was[name]
    if not sizes:
        raise ValueError("no batches")
    return {"loss": math.fsum(losses) / sum(sizes), "accuracy": sum(hits) / sum(sizes)}


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
    history = []
    for epoch in range(epochs):
        model.train(True)
        numbered = enumerate(train_batches)
        seen, samples = [], 0
        while window := list(islice(numbered, accumulate)):
            model.zero_grad(set_to_none=False)
            optimizer.zero_grad()
            for number, (x, y) in window:
                loss = loss_fn(model(x.to(_device(model))), y.to(_device(model)))
                if not math.isfinite(loss):
                    raise FloatingPointError(f"epoch={epoch} batch={number}: {loss}")
                loss.backward()
                seen.append(float(loss.detach()) * len(y))
                samples += len(y)
            grads = [p.grad for p in model.parameters() if p.grad is not None]
            for g in grads:
                g /= len(window)
            if max_norm is not None:
                norm = torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in grads]))
                if norm > max_norm:
                    for g in grads:
                        g *= max_norm / norm
            optimizer.step()
            if scheduler:
                scheduler.step()
        val = evaluate(model, val_batches, loss_fn)
        history.append(
            dict(
                epoch=epoch,
                train_loss=sum(seen) / samples,
                val_loss=val["loss"],
                val_accuracy=val["accuracy"],
            )
        )
    return history
