import math

import torch
from torch.nn.modules.module import register_module_forward_hook


def global_grad_norm(model):
    """Scaled by the largest element, so that nothing overflows."""
    flat = [p.grad.detach().to(torch.float64).flatten() for p in model.parameters() if p.grad is not None]
    if not flat or sum(t.numel() for t in flat) == 0:
        return 0.0
    v = torch.cat([t.cpu() for t in flat])
    top = v.abs().max().item()
    if top == 0 or not math.isfinite(top):
        return top
    return top * math.sqrt(((v / top) ** 2).sum().item())


class ActivationMonitor:
    """One global hook; the names of this model's leaves are known before."""

    def __init__(self, model):
        self.stats = {}
        self._names = {m: n for n, m in model.named_modules() if not any(True for _ in m.children())}
        self._handle = None

    def __enter__(self):
        self._handle = register_module_forward_hook(self._see)
        return self

    def __exit__(self, kind, error, trace):
        self._handle.remove()

    def _see(self, module, args, out):
        name = self._names.get(module)
        if name is None or not isinstance(out, torch.Tensor) or not out.dtype.is_floating_point:
            return None
        with torch.no_grad():
            values = out.double()
            n = values.numel()
            mean = values.sum() / n
            std = ((values - mean) ** 2).sum().div(n).sqrt()
            self.stats[name] = {
                "mean": float(mean),
                "std": float(std),
                "zero_fraction": int((values == 0).sum()) / n,
                "finite": not bool((torch.isnan(values) | torch.isinf(values)).any()),
            }
        return None


def first_nonfinite(model, *inputs):
    names = {m: n for n, m in model.named_modules()}
    hit = []

    def tensors(x):
        if isinstance(x, torch.Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            for y in x:
                yield from tensors(y)

    def see(module, args, out):
        if module in names and not hit:
            for t in tensors(out):
                if t.is_floating_point() and ((t != t) | (t.abs() == math.inf)).any():
                    hit.append(names[module])
                    break

    handle = register_module_forward_hook(see)
    try:
        model(*inputs)
    finally:
        handle.remove()
    return hit[0] if hit else None
