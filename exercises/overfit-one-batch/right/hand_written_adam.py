import copy

import torch


class Adam:
    def __init__(self, params, lr):
        self.params, self.lr, self.t = params, lr, 0
        self.m = [torch.zeros_like(p) for p in params]
        self.v = [torch.zeros_like(p) for p in params]

    @torch.no_grad()
    def step(self, grads):
        self.t += 1
        for p, g, m, v in zip(self.params, grads, self.m, self.v):
            if g is None:
                continue
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            p -= self.lr * (m / (1 - 0.9**self.t)) / ((v / (1 - 0.999**self.t)).sqrt() + 1e-8)


def without_dropout(module):
    for name, child in module.named_children():
        if type(child).__name__.endswith(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")):
            setattr(module, name, torch.nn.Identity())
        else:
            without_dropout(child)
    return module


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    if steps < 1:
        raise ValueError("need at least one step")
    net = without_dropout(copy.deepcopy(model).train())
    names = [n for n, p in net.named_parameters() if p.requires_grad]
    params = [p for p in net.parameters() if p.requires_grad]
    adam, losses, waiting, reason = Adam(params, lr), [], set(names), None
    devices = [inputs.device] if inputs.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        while reason is None:
            loss = loss_fn(net(inputs), targets)
            losses.append(loss.item())
            if losses[-1] != losses[-1] or abs(losses[-1]) == float("inf"):
                reason = "nonfinite"
            elif not loss.requires_grad or not params:
                reason = "no_gradient"
            else:
                grads = torch.autograd.grad(loss, params, allow_unused=True)
                waiting -= {n for n, g in zip(names, grads) if g is not None and (g != 0).any()}
                if losses[-1] < threshold:
                    reason = "ok"
                elif len(losses) == 1 and len(waiting) == len(names):
                    reason = "no_gradient"
                else:
                    adam.step(grads)
                    if len(losses) == steps:
                        reason = "stuck"
    return {
        "idle": [n for n in names if n in waiting],
        "losses": losses,
        "reason": reason,
        "passed": reason == "ok",
    }
