from copy import deepcopy

import torch
from torch import nn


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    if steps <= 0:
        raise ValueError(f"steps={steps}")
    state = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    try:
        return _run(model, inputs, targets, loss_fn, steps, lr, threshold)
    finally:
        torch.set_rng_state(state)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)


def _run(model, inputs, targets, loss_fn, steps, lr, threshold):
    net = deepcopy(model)
    net.train()
    for m in net.modules():
        if isinstance(m, nn.modules.dropout._DropoutNd):
            m.p = 0.0
    named = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    for p in net.parameters():
        p.grad = None
    moved = dict.fromkeys((n for n, _ in named), False)
    optimizer = None
    history = []
    reason = "stuck"
    for i in range(steps):
        loss = loss_fn(net(inputs), targets)
        history.append(float(loss.detach()))
        if not torch.isfinite(loss.detach()).all():
            reason = "nonfinite"
            break
        if loss.grad_fn is None and not loss.requires_grad:
            reason = "no_gradient"
            break
        for _, p in named:
            p.grad = None
        loss.backward()
        for n, p in named:
            moved[n] |= p.grad is not None and bool(torch.count_nonzero(p.grad))
        if history[-1] < threshold:
            reason = "ok"
            break
        if i == 0 and not any(moved.values()):
            reason = "no_gradient"
            break
        optimizer = optimizer or torch.optim.Adam([p for _, p in named], lr, weight_decay=0)
        optimizer.step()
    idle = [n for n, was in moved.items() if not was]
    return dict(passed=reason == "ok", reason=reason, losses=history, idle=idle)
