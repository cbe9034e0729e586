# fails: 1
# message: tracked by autograd
import copy
import math
import torch
from torch import nn

DROPS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    if steps < 1:
        raise ValueError("steps must be at least 1")
    net = copy.deepcopy(model)
    net.train()
    net.zero_grad(set_to_none=True)
    for m in net.modules():
        if isinstance(m, DROPS):
            m.eval()
    named = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    idle = {n for n, _ in named}
    losses = []
    if inputs.is_floating_point():
        inputs.requires_grad_(True)
    reason = "stuck"
    devices = sorted({p.device.index for p in net.parameters() if p.is_cuda})
    with torch.random.fork_rng(devices), torch.enable_grad():
        opt = torch.optim.Adam([p for _, p in named], lr=lr) if named else None
        for step in range(steps):
            for _, p in named:
                p.grad = None
            loss = loss_fn(net(inputs), targets)
            losses.append(loss.item())
            if not math.isfinite(losses[-1]):
                reason = "nonfinite"
                break
            if not loss.requires_grad:
                reason = "no_gradient"
                break
            loss.backward()
            live = {n for n, p in named if p.grad is not None and bool((p.grad != 0).any())}
            idle -= live
            if losses[-1] < threshold:
                reason = "ok"
                break
            if step == 0 and not live:
                reason = "no_gradient"
                break
            opt.step()
    return {
        "passed": reason == "ok",
        "reason": reason,
        "losses": losses,
        "idle": [n for n, _ in named if n in idle],
    }
