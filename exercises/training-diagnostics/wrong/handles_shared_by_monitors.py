# fails: 7
# message: Two monitors at once
import torch
from torch import nn


def global_grad_norm(model):
    total = 0.0
    for p in model.parameters():
        if p.grad is not None:
            total += p.grad.detach().double().pow(2).sum().item()
    return float(total**0.5)


class ActivationMonitor:
    handles = []

    def __init__(self, model):
        self.model = model
        self.stats = {}

    def __enter__(self):
        for name, m in self.model.named_modules():
            if len(list(m.children())) == 0:
                self.handles.append(m.register_forward_hook(self._hook(name)))
        return self

    def _hook(self, name):
        def hook(module, inputs, output):
            if not isinstance(output, torch.Tensor) or not output.is_floating_point():
                return
            x = output.detach().double()
            self.stats[name] = {
                "mean": x.mean().item(),
                "std": x.std(unbiased=False).item(),
                "zero_fraction": (x == 0).double().mean().item(),
                "finite": bool(torch.isfinite(x).all()),
            }

        return hook

    def __exit__(self, *exc):
        for h in self.handles:
            h.remove()
        self.handles.clear()
        return False


def _bad(out):
    if isinstance(out, torch.Tensor):
        return not bool(torch.isfinite(out).all())
    if isinstance(out, (tuple, list)):
        return any(_bad(o) for o in out)
    return False


def first_nonfinite(model, *inputs):
    found = []
    handles = []

    def make(name):
        def hook(module, inp, out):
            if not found and _bad(out):
                found.append(name)

        return hook

    for name, m in model.named_modules():
        handles.append(m.register_forward_hook(make(name)))
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for h in handles:
            h.remove()
    return found[0] if found else None
