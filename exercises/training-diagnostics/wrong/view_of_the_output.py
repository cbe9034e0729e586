# fails: 13
# message: need not be contiguous
import math
import torch
from torch import nn


def global_grad_norm(model):
    total = 0.0
    for p in model.parameters():
        if p.grad is not None:
            total += p.grad.detach().double().pow(2).sum().item()
    return math.sqrt(total) if not math.isnan(total) else float("nan")


def _stats(t):
    t = t.detach().view(-1).double()
    if t.numel() == 0:
        return {"mean": 0.0, "std": 0.0, "zero_fraction": 0.0, "finite": True}
    return {
        "mean": t.mean().item(),
        "std": t.std(correction=0).item(),
        "zero_fraction": (t == 0).double().mean().item(),
        "finite": bool(torch.isfinite(t).all()),
    }


class ActivationMonitor:
    def __init__(self, model):
        self.model = model
        self.stats = {}
        self.handles = []

    def __enter__(self):
        for name, module in self.model.named_modules():
            if not list(module.children()):
                self.handles.append(module.register_forward_hook(self._hook(name)))
        return self

    def _hook(self, name):
        def hook(module, args, output):
            if isinstance(output, torch.Tensor) and output.is_floating_point():
                self.stats[name] = _stats(output)

        return hook

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)


def first_nonfinite(model, *inputs):
    found = []
    handles = []

    def hook_of(name):
        def hook(module, args, output):
            if not found and any(not torch.isfinite(t).all() for t in _tensors(output)):
                found.append(name)

        return hook

    try:
        for name, module in model.named_modules():
            handles.append(module.register_forward_hook(hook_of(name)))
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None
