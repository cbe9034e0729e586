# fails: 7
# message: step() itself skips the update
import torch
from torch.nn.utils import clip_grad_norm_


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
    if not micro_batches:
        raise ValueError("no micro-batches")
    model.train()
    optimizer.zero_grad(set_to_none=True)
    losses = []
    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype=amp_dtype):
            loss = loss_fn(model(x), y)
        scaler.scale(loss / len(micro_batches)).backward()
        losses.append(loss.detach().float())
    scaler.unscale_(optimizer)
    norm = clip_grad_norm_(model.parameters(), float("inf") if max_norm is None else max_norm)
    before = scaler.get_scale()
    if torch.isfinite(norm):
        scaler.step(optimizer)
    scaler.update()
    skipped = scaler.is_enabled() and scaler.get_scale() < before
    if lr_scheduler is not None and not skipped:
        lr_scheduler.step()
    return {"loss": torch.stack(losses).mean().item(), "grad_norm": float(norm), "skipped": bool(skipped)}
