# fails: 1
# message: every submodule
import torch
from torch import nn


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
    if len(micro_batches) == 0:
        raise ValueError("no micro-batches")
    model.training = True
    optimizer.zero_grad()
    k = len(micro_batches)
    total = 0.0
    for inputs, targets in micro_batches:
        with torch.autocast(device_type=inputs.device.type, dtype=amp_dtype):
            outputs = model(inputs)
            loss = loss_fn(outputs, targets)
        scaler.scale(loss / k).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if max_norm is None:
        grads = [p.grad for p in params if p.grad is not None]
        norm = torch.sqrt(sum((g.float() ** 2).sum() for g in grads))
    else:
        norm = nn.utils.clip_grad_norm_(params, max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = scaler.get_scale() < before
    if lr_scheduler is not None and not skipped:
        lr_scheduler.step()
    return {"loss": total / k, "grad_norm": float(norm), "skipped": skipped}
