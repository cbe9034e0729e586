import torch


class Snapshot:
    def __init__(self, model):
        self.tensors = {id(t): (t, t.clone().detach()) for t in [*model.parameters(), *model.buffers()]}
        self.grads = [(p, p.grad.clone() if p.grad is not None else None) for p in model.parameters()]

    def restore(self):
        for tensor, saved in self.tensors.values():
            tensor.data.copy_(saved)
        for p, grad in self.grads:
            p.grad = grad


def _steps(model, loss_fn, batches, rates, stop_factor):
    iterator, lowest = iter(batches), None
    for lr in rates:
        try:
            x, y = next(iterator)
        except StopIteration:
            iterator = iter(batches)
            x, y = next(iterator)
        for p in model.parameters():
            p.grad = None
        loss = loss_fn(model(x), y)
        value = loss.item()
        if not torch.isfinite(loss).item() or (lowest is not None and value > stop_factor * lowest):
            return
        lowest = value if lowest is None else min(lowest, value)
        yield lr, value
        loss.backward()
        for p in model.parameters():
            if p.grad is not None:
                p.data.add_(p.grad, alpha=-lr)


def lr_range_test(model, loss_fn, batches, lr_min=1e-6, lr_max=1.0, num_steps=50, stop_factor=4.0):
    if lr_min <= 0 or not lr_max > lr_min or num_steps < 2 or not any(True for _ in batches):
        raise ValueError("arguments")
    low, high = torch.log(torch.tensor([lr_min, lr_max], dtype=torch.float64))
    rates = torch.linspace(low, high, num_steps, dtype=torch.float64).exp().tolist()
    snapshot = Snapshot(model)
    try:
        points = list(_steps(model, loss_fn, batches, rates, stop_factor))
    finally:
        snapshot.restore()
    return [lr for lr, _ in points], [value for _, value in points]


def suggest_lr(lrs, losses, beta=0.0):
    n = len(losses)
    if n != len(lrs) or n < 2 or not 0 <= beta < 1:
        raise ValueError("arguments")
    smooth = []
    for i in range(n):
        weights = [(1 - beta) * beta ** (i - j) for j in range(i + 1)]
        smooth.append(sum(w * x for w, x in zip(weights, losses)) / (1 - beta ** (i + 1)))
    return lrs[min(range(1, n), key=lambda i: smooth[i] - smooth[i - 1])]
