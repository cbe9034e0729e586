import torch


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    if not micro_batches:
        raise ValueError("no micro-batches")
    optimizer.zero_grad(set_to_none=True)
    weighted, count = 0.0, 0
    for x, y in micro_batches:
        n = x.size(0)
        loss = n * loss_fn(model(x), y)
        loss.backward()
        weighted += float(loss.detach())
        count += n
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= count
    if max_norm is not None:
        norm = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters() if p.grad is not None))
        if norm > max_norm:
            for p in model.parameters():
                p.grad *= max_norm / norm
    optimizer.step()
    return weighted / count


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    if accum_steps <= 0:
        raise ValueError(f"accum_steps = {accum_steps}")
    window, steps = [], 0
    for batch in loader:
        window.append(batch)
        if len(window) == accum_steps:
            accumulate_step(model, loss_fn, optimizer, window, max_norm)
            window, steps = [], steps + 1
    if window:
        accumulate_step(model, loss_fn, optimizer, window, max_norm)
        steps += 1
    return steps
