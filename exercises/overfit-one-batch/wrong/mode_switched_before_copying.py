# fails: 1
# message: edited while the test ran
import copy
import itertools
import math
import torch
from torch import nn

DROPS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    if steps < 1:
        raise ValueError("steps")
    devices = {t.device for t in itertools.chain(model.parameters(), model.buffers()) if t.is_cuda}
    with torch.random.fork_rng(devices=list(devices)), torch.enable_grad():
        return _run(model, inputs.clone(), targets.clone(), loss_fn, steps, lr, threshold)


def _run(model, inputs, targets, loss_fn, steps, lr, threshold):
    was = [(m, m.training) for m in model.modules()]
    model.train()
    twin = copy.deepcopy(model)
    for m, t in was:
        m.training = t
    for m in twin.modules():
        if isinstance(m, DROPS):
            m.eval()
    named = [(n, p) for n, p in twin.named_parameters() if p.requires_grad]
    for p in twin.parameters():
        p.grad = None
    optimizer = torch.optim.Adam([p for _, p in named], lr=lr) if named else None
    losses, alive = [], set()

    def report(reason):
        return {
            "passed": reason == "ok",
            "reason": reason,
            "losses": losses,
            "idle": [n for n, _ in named if n not in alive],
        }

    for i in range(steps):
        if optimizer:
            optimizer.zero_grad()
        loss = loss_fn(twin(inputs), targets)
        losses.append(float(loss))
        if not math.isfinite(losses[-1]):
            return report("nonfinite")
        if not loss.requires_grad:
            return report("no_gradient")
        loss.backward()
        alive |= {n for n, p in named if p.grad is not None and torch.count_nonzero(p.grad)}
        if losses[-1] < threshold:
            return report("ok")
        if i == 0 and not alive:
            return report("no_gradient")
        if optimizer:
            optimizer.step()
    return report("stuck")
