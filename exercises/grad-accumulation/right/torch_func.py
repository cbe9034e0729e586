import torch
from torch.func import functional_call, grad_and_value


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    if len(micro_batches) == 0:
        raise ValueError("empty")
    sizes = [x.size(0) for x, _ in micro_batches]
    params = {k: p for k, p in model.named_parameters()}
    free = {k: p.detach() for k, p in params.items() if p.requires_grad}

    def loss_of(values, x, y):
        return loss_fn(functional_call(model, values, (x,)), y)

    total, sums = 0.0, {k: torch.zeros_like(v) for k, v in free.items()}
    for (x, y), n in zip(micro_batches, sizes):
        g, loss = grad_and_value(loss_of)(free, x, y)
        total += loss.item() * n
        for k in sums:
            sums[k].add_(g[k], alpha=n / sum(sizes))
    for k, p in params.items():
        p.grad = sums.get(k)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(list(params.values()), max_norm)
    optimizer.step()
    return total / sum(sizes)


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    batches = list(loader)
    starts = range(0, len(batches), accum_steps)
    for i in starts:
        accumulate_step(model, loss_fn, optimizer, batches[i : i + accum_steps], max_norm)
    return len(starts)
