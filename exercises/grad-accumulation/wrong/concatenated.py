# fails: 0
# message: must not be concatenated
import torch


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    if not micro_batches:
        raise ValueError("no micro-batches")
    inputs = torch.cat([x for x, _ in micro_batches])
    targets = torch.cat([y for _, y in micro_batches])
    optimizer.zero_grad()
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    batches = list(loader)
    for i in range(0, len(batches), accum_steps):
        accumulate_step(model, loss_fn, optimizer, batches[i : i + accum_steps], max_norm)
    return -(-len(batches) // accum_steps)
