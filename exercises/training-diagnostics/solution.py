"""Gradient norm, activation statistics, and the first layer that breaks.

A forward hook fires when its module finishes: inner modules before their container, in execution order. So the
first hit is where a NaN first came out. Hooks return None (anything else would replace the output) and go in a finally clause.
"""

import functools
import math

import torch
from torch import Tensor, nn


def global_grad_norm(model: nn.Module) -> float:
    """The L2 norm of all gradients taken as one vector."""
    grads = [p.grad.detach().double() for p in model.parameters() if p.grad is not None]
    return math.sqrt(sum(float(g.square().sum()) for g in grads))


class ActivationMonitor:
    """A context manager that writes statistics of every leaf's output into ``stats``."""

    def __init__(self, model: nn.Module):
        self.model = model
        self.stats: dict[str, dict[str, float]] = {}
        self._handles = []

    def __enter__(self) -> "ActivationMonitor":
        for name, module in self.model.named_modules():
            if next(module.children(), None) is None:
                self._handles.append(module.register_forward_hook(functools.partial(self._note, name)))
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _note(self, name: str, module: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and output.is_floating_point():
            values = output.detach().double()
            self.stats[name] = {
                "mean": values.mean().item(),
                "std": values.std(unbiased=False).item(),
                "zero_fraction": (values == 0).double().mean().item(),
                "finite": bool(torch.isfinite(values).all()),
            }


def first_nonfinite(model: nn.Module, *inputs) -> str | None:
    """The name of the first module to finish with an inf or NaN in its output."""
    found = []

    def look(name: str, module: nn.Module, args: object, output: object) -> None:
        if not found and not _finite(output):
            found.append(name)

    handles = [m.register_forward_hook(functools.partial(look, name)) for name, m in model.named_modules()]
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None


def _finite(output: object) -> bool:
    if isinstance(output, Tensor):
        return bool(torch.isfinite(output).all())
    if isinstance(output, tuple | list):
        return all(_finite(item) for item in output)
    return True
