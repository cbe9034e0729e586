import math


class _Accumulator:
    """Sums gradients of summed losses and divides by the number of examples at the end."""

    def __init__(self, model, loss_fn, optimizer, max_norm):
        self.model, self.loss_fn, self.optimizer, self.max_norm = model, loss_fn, optimizer, max_norm
        self.reset()

    def reset(self):
        self.n, self.sums, self.batches = 0, [], 0
        for p in self.model.parameters():
            p.grad = None

    def add(self, inputs, targets):
        n = len(inputs)
        loss = self.loss_fn(self.model(inputs), targets)
        (n * loss).backward()
        self.sums.append(n * float(loss.detach()))
        self.n += n
        self.batches += 1

    def finish(self):
        grads = [p.grad.div_(self.n) for p in self.model.parameters() if p.grad is not None]
        if self.max_norm is not None:
            norm = math.sqrt(sum(float(g.double().pow(2).sum()) for g in grads))
            if norm > self.max_norm:
                for g in grads:
                    g.mul_(self.max_norm / norm)
        self.optimizer.step()
        result = math.fsum(self.sums) / self.n
        self.reset()
        return result


def accumulate_step(model, loss_fn, optimizer, micro_batches, max_norm=None):
    if len(micro_batches) == 0:
        raise ValueError("no micro-batches")
    acc = _Accumulator(model, loss_fn, optimizer, max_norm)
    for pair in micro_batches:
        acc.add(*pair)
    return acc.finish()


def train_epoch(model, loss_fn, optimizer, loader, accum_steps, max_norm=None):
    if accum_steps <= 0:
        raise ValueError("accum_steps")
    acc, steps = _Accumulator(model, loss_fn, optimizer, max_norm), 0
    for inputs, targets in loader:
        acc.add(inputs, targets)
        if acc.batches == accum_steps:
            acc.finish()
            steps += 1
    if acc.batches:
        acc.finish()
        steps += 1
    return steps
