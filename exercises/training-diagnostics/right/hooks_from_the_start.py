import torch
from torch import nn


def global_grad_norm(model: nn.Module) -> float:
    squares = [
        p.grad.double().pow(2).sum().item() for p in model.parameters() if isinstance(p.grad, torch.Tensor)
    ]
    return float(sum(squares) ** 0.5)


class _Leaf:
    def __init__(self, name, stats):
        self.name, self.stats = name, stats

    def __call__(self, module, inputs, output):
        if torch.is_tensor(output) and output.is_floating_point():
            flat = output.detach().to(torch.float64).reshape(-1)
            var, mean = torch.var_mean(flat, correction=0)
            self.stats[self.name] = {
                "finite": flat.isfinite().all().item(),
                "zero_fraction": flat.eq(0).sum().item() / flat.numel(),
                "std": var.sqrt().item(),
                "mean": mean.item(),
            }


class ActivationMonitor:
    def __init__(self, model: nn.Module):
        self.stats: dict[str, dict[str, float]] = {}
        self.handles = []
        for name, module in model.named_modules():
            if not any(True for _ in module.children()):
                self.handles.append(module.register_forward_hook(_Leaf(name, self.stats)))

    def __enter__(self):
        return self

    def __exit__(self, *args):
        while self.handles:
            self.handles.pop().remove()


def _bad(value) -> bool:
    if torch.is_tensor(value):
        return not value.isfinite().all()
    return isinstance(value, (tuple, list)) and any(_bad(v) for v in value)


class _Found(Exception):
    pass


def first_nonfinite(model: nn.Module, *inputs):
    order = []
    handles = []
    try:
        for name, module in model.named_modules():
            handles.append(
                module.register_forward_hook(
                    lambda m, i, o, name=name: order.append((name, _bad(o))) and None
                )
            )
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return next((name for name, bad in order if bad), None)
