import math

import torch


def amp_step(
    model,
    optimizer,
    scaler,
    micro_batches,
    loss_fn,
    *,
    max_norm=1.0,
    amp_dtype=torch.float16,
    lr_scheduler=None,
):
    batches = list(micro_batches)
    if not batches:
        raise ValueError("no micro-batches")
    model.train()
    for p in model.parameters():
        p.grad = None
    losses = []
    for x, y in batches:
        with torch.amp.autocast(device_type=x.device.type, dtype=amp_dtype):
            loss = loss_fn(model(x), y)
        losses.append(loss.detach().float())
        (scaler.scale(loss) * (1.0 / len(batches))).backward()
    scaler.unscale_(optimizer)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = math.sqrt(sum(float(g.double().pow(2).sum()) for g in grads))
    if max_norm is not None and norm > max_norm:
        for g in grads:
            g.mul_(max_norm / (norm + 1e-6))
    old = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = bool(scaler.get_scale() < old)
    if lr_scheduler and not skipped:
        lr_scheduler.step()
    return dict(loss=float(torch.stack(losses).mean()), grad_norm=float(norm), skipped=skipped)
