# fails: 8
# message: whose elements are all negative
import copy
import math
import torch
from torch import nn


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    if steps < 1:
        raise ValueError("steps must be at least 1")
    m = copy.deepcopy(model)
    m.train()
    for mod in m.modules():
        if isinstance(mod, (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)):
            mod.eval()
    for p in m.parameters():
        p.grad = None
    named = [(n, p) for n, p in m.named_parameters() if p.requires_grad]
    idle = {n for n, _ in named}
    losses = []

    def report(reason):
        return {
            "passed": reason == "ok",
            "reason": reason,
            "losses": losses,
            "idle": [n for n, _ in named if n in idle],
        }

    with torch.random.fork_rng(), torch.enable_grad():
        opt = torch.optim.Adam([p for _, p in named], lr=lr) if named else None
        for step in range(steps):
            if opt is not None:
                opt.zero_grad()
            loss = loss_fn(m(inputs), targets)
            value = float(loss)
            losses.append(value)
            if not math.isfinite(value):
                return report("nonfinite")
            if not loss.requires_grad:
                return report("no_gradient")
            loss.backward()
            for n, p in named:
                if p.grad is not None and bool((p.grad > 0).any()):
                    idle.discard(n)
            if value < threshold:
                return report("ok")
            if step == 0 and len(idle) == len(named):
                return report("no_gradient")
            opt.step()
    return report("stuck")
