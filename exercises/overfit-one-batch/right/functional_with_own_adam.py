import copy
import math

import torch
from torch import nn
from torch.func import functional_call


def overfit_one_batch(model, inputs, targets, loss_fn, *, steps=200, lr=1e-2, threshold=0.05):
    """Functional: own Adam, parameters in a dictionary."""
    if steps <= 0:
        raise ValueError("steps")
    shell = copy.deepcopy(model)
    shell.train()
    for m in shell.modules():
        if isinstance(m, (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)):
            m.training = False
    names = [n for n, p in shell.named_parameters() if p.requires_grad]
    theta = {n: p.detach().clone().requires_grad_() for n, p in shell.named_parameters() if p.requires_grad}
    m1 = {n: torch.zeros_like(p) for n, p in theta.items()}
    m2 = {n: torch.zeros_like(p) for n, p in theta.items()}
    seen = set()
    touched = {n: 0 for n in names}

    def run():
        losses = []
        for t in range(steps):
            loss = loss_fn(functional_call(shell, theta, (inputs,)), targets)
            losses.append(loss.detach().cpu().item())
            if not math.isfinite(losses[-1]):
                return "nonfinite", losses
            if not loss.requires_grad:
                return "no_gradient", losses
            if theta:
                grads = dict(zip(theta, torch.autograd.grad(loss, list(theta.values()), allow_unused=True)))
            else:
                grads = {}
            seen.update(n for n, g in grads.items() if g is not None and g.ne(0).any())
            if losses[-1] < threshold:
                return "ok", losses
            if t == 0 and not seen:
                return "no_gradient", losses
            with torch.no_grad():
                for n, g in grads.items():
                    if g is None:
                        continue
                    touched[n] += 1
                    k = touched[n]
                    m1[n] = 0.9 * m1[n] + 0.1 * g
                    m2[n] = 0.999 * m2[n] + 0.001 * g * g
                    d = (m2[n] / (1 - 0.999**k)).sqrt() + 1e-8
                    theta[n] -= lr * (m1[n] / (1 - 0.9**k)) / d
        return "stuck", losses

    with torch.random.fork_rng(), torch.set_grad_enabled(True):
        reason, losses = run()
    return {
        "passed": reason == "ok",
        "reason": reason,
        "losses": losses,
        "idle": [n for n in names if n not in seen],
    }
