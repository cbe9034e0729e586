import contextlib
import copy
import math

import torch


@contextlib.contextmanager
def untouched(model):
    state = copy.deepcopy(model.state_dict())
    modes = {name: module.training for name, module in model.named_modules()}
    grads = {name: p.grad for name, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = None
    try:
        yield
    finally:
        model.load_state_dict(state)
        for name, module in model.named_modules():
            module.training = modes[name]
        for name, p in model.named_parameters():
            p.grad = grads[name]


def forever(batches):
    while True:
        empty = True
        for batch in batches:
            empty = False
            yield batch
        if empty:
            raise ValueError("no batches")


def lr_range_test(model, loss_fn, batches, lr_min=1e-6, lr_max=1.0, num_steps=50, stop_factor=4.0):
    if lr_min <= 0:
        raise ValueError("lr_min must be positive")
    if lr_max <= lr_min:
        raise ValueError("lr_max must exceed lr_min")
    if num_steps < 2:
        raise ValueError("at least two steps")
    ratio = math.log(lr_max / lr_min) / (num_steps - 1)
    points = []
    with untouched(model):
        stream = forever(batches)
        for i in range(num_steps):
            x, y = next(stream)
            params = [p for p in model.parameters() if p.requires_grad]
            loss = loss_fn(model(x), y)
            now = float(loss.detach())
            lowest = min((value for _, value in points), default=math.inf)
            if math.isnan(now) or math.isinf(now) or now > stop_factor * lowest:
                break
            lr = lr_min * math.exp(i * ratio)
            points.append((lr, now))
            grads = torch.autograd.grad(loss, params, allow_unused=True)
            with torch.no_grad():
                for p, g in zip(params, grads):
                    if g is not None:
                        p.sub_(g, alpha=lr)
    return [lr for lr, _ in points], [value for _, value in points]


def suggest_lr(lrs, losses, beta=0.0):
    if not (0.0 <= beta < 1.0) or len(lrs) != len(losses) or len(losses) <= 1:
        raise ValueError("suggest_lr")
    best, answer, previous, s = math.inf, None, None, 0.0
    for i, (lr, loss) in enumerate(zip(lrs, losses)):
        s = beta * s + (1 - beta) * loss
        value = s / (1 - math.pow(beta, i + 1))
        if previous is not None and value - previous < best:
            best, answer = value - previous, lr
        previous = value
    return answer
