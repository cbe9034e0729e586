# fails: 4
# message: two parameter groups
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
    k = len(batches)
    if not k:
        raise ValueError("no micro-batches")
    model.train()
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None
    total = 0.0
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=amp_dtype):
            loss = loss_fn(model(x), y)
        total += loss.item()
        scaler.scale(loss / k).backward()
    scaler.unscale_(optimizer)
    grads = [p.grad for g in optimizer.param_groups[:1] for p in g["params"] if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g.float()) for g in grads]))
    if max_norm is not None and norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = bool(scaler.is_enabled() and scaler.get_scale() < before)
    if lr_scheduler is not None and not skipped:
        lr_scheduler.step()
    return {"loss": total / k, "grad_norm": float(norm), "skipped": skipped}
