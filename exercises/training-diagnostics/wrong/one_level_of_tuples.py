# fails: 12
# message: Tuples may hold tuples
import math
import torch
from torch import nn


def global_grad_norm(model):
    total = 0.0
    scale = None
    norms = []
    for p in model.parameters():
        if p.grad is not None:
            norms.append(p.grad.detach().double().norm())
    if not norms:
        return 0.0
    return torch.stack(norms).norm().item()


class ActivationMonitor:
    def __init__(self, model):
        self.model = model
        self.stats = {}
        self._handles = []

    def __enter__(self):
        for name, module in self.model.named_modules():
            if not list(module.children()):
                self._handles.append(module.register_forward_hook(self._hook(name)))
        return self

    def _hook(self, name):
        def hook(module, args, output):
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
        for h in self._handles:
            h.remove()
        self._handles = []
        return False


def _broken(out):
    if isinstance(out, torch.Tensor):
        return (out.is_floating_point() or out.is_complex()) and not bool(torch.isfinite(out).all())
    if isinstance(out, (tuple, list)):
        return any(isinstance(o, torch.Tensor) and _broken(o) for o in out)
    return False


def first_nonfinite(model, *inputs):
    found = []
    handles = []

    def make(name):
        def hook(module, args, output):
            if not found and _broken(output):
                found.append(name)

        return hook

    try:
        for name, module in model.named_modules():
            handles.append(module.register_forward_hook(make(name)))
        with torch.no_grad():
            model(*inputs)
    finally:
        for h in handles:
            h.remove()
    return found[0] if found else None
