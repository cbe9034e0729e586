import copy
import math

import torch
from torch import nn


def _losses(net, inputs, targets, loss_fn, optimizer):
    while True:
        loss = loss_fn(net(inputs), targets)
        yield loss
        if optimizer:
            optimizer.step()
            optimizer.zero_grad()


def _has_gradient(p):
    return p.grad is not None and p.grad.abs().sum().item() > 0


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    if not steps >= 1:
        raise ValueError("steps")
    net = copy.deepcopy(model)
    net.zero_grad(set_to_none=True)
    kinds = (nn.Dropout, nn.AlphaDropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
    net.train().apply(lambda m: m.eval() if isinstance(m, kinds) else m)
    trainable = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    optimizer = torch.optim.Adam([p for _, p in trainable], lr=lr) if trainable else None
    awake, record, reason = set(), [], "stuck"
    with torch.random.fork_rng(), torch.enable_grad():
        for number, loss in zip(range(steps), _losses(net, inputs, targets, loss_fn, optimizer)):
            value = float(loss)
            record.append(value)
            if not math.isfinite(value):
                reason = "nonfinite"
                break
            if not loss.requires_grad:
                reason = "no_gradient"
                break
            loss.backward()
            awake.update(n for n, p in trainable if _has_gradient(p))
            if value < threshold:
                reason = "ok"
                break
            if number == 0 and not awake:
                reason = "no_gradient"
                break
    return {
        "passed": reason == "ok",
        "reason": reason,
        "losses": record,
        "idle": [n for n, _ in trainable if n not in awake],
    }
