import contextlib
import math

import torch
from torch import nn


def global_grad_norm(model):
    total = 0.0
    for _, p in model.named_parameters():
        if p.grad is not None:
            total = math.hypot(total, torch.linalg.vector_norm(p.grad, dtype=torch.float64).item())
    return total


class ActivationMonitor(contextlib.ExitStack):
    def __init__(self, model):
        super().__init__()
        self.model, self.stats = model, {}

    def __enter__(self):
        super().__enter__()
        leaves = {name: m for name, m in self.model.named_modules() if len(list(m.children())) == 0}
        for name, leaf in leaves.items():
            self.callback(leaf.register_forward_hook(self.hook(name)).remove)
        return self

    def hook(self, name):
        @torch.no_grad()
        def measure(module, args, out):
            if not torch.is_tensor(out) or not torch.is_floating_point(out):
                return
            x = out.to(torch.float64).flatten()
            n = x.numel()
            mean = x.sum() / n
            self.stats[name] = dict(
                mean=float(mean),
                std=float(((x - mean) ** 2).sum().div(n).sqrt()),
                zero_fraction=1 - torch.count_nonzero(x).item() / n,
                finite=not (x.isnan().any().item() or x.isinf().any().item()),
            )

        return measure


def tensors(value):
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def first_nonfinite(model: nn.Module, *inputs):
    hits = []
    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():

            def hook(m, a, out, name=name):
                if any(not t.isfinite().all() for t in tensors(out)):
                    hits.append(name)

            stack.callback(module.register_forward_hook(hook).remove)
        model(*inputs)
    return hits[0] if hits else None
