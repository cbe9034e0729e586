# fails: 5
# message: test the elements
import math
import torch
from torch import nn


def global_grad_norm(model):
    total = 0.0
    for p in model.parameters():
        if p.grad is not None:
            total += float((p.grad.detach().double() ** 2).sum())
    return math.sqrt(total)


def _stats(t):
    x = t.detach().double().reshape(-1)
    if not x.numel():
        return None
    mean = x.mean()
    return {
        "mean": float(mean),
        "std": float((x - mean).square().mean().sqrt()),
        "zero_fraction": float((t.detach() == 0).double().mean()),
        "finite": bool(torch.isfinite(t.float().mean())),
    }


class ActivationMonitor:
    def __init__(self, model):
        self.model = model
        self.stats = {}
        self._handles = []

    def __enter__(self):
        for name, module in self.model.named_modules():
            if not any(True for _ in module.children()):
                self._handles.append(module.register_forward_hook(self._hook(name)))
        return self

    def _hook(self, name):
        def hook(module, args, output):
            if isinstance(output, torch.Tensor) and output.is_floating_point():
                self.stats[name] = _stats(output)

        return hook

    def __exit__(self, *error):
        while self._handles:
            self._handles.pop().remove()
        return False


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def first_nonfinite(model, *inputs):
    found = []
    handles = []

    def watch(name):
        def hook(module, args, output):
            if not found and any(not torch.isfinite(t).all() for t in _tensors(output)):
                found.append(name)

        return hook

    try:
        for name, module in model.named_modules():
            handles.append(module.register_forward_hook(watch(name)))
        with torch.no_grad():
            model(*inputs)
    finally:
        for h in handles:
            h.remove()
    return found[0] if found else None
