"""One hook for all modules; modules of other models are told apart by identity."""

import numpy as np
import torch
from torch.nn.modules.module import register_module_forward_hook


def global_grad_norm(model):
    grads = [p.grad.detach().cpu().double().numpy().ravel() for p in model.parameters() if p.grad is not None]
    return float(np.linalg.norm(np.concatenate(grads))) if grads else 0.0


class ActivationMonitor:
    def __init__(self, model):
        self.stats = {}
        self._names = {module: name for name, module in model.named_modules() if not len(module._modules)}
        self._handle = None

    def __enter__(self):
        self._handle = register_module_forward_hook(self._on_forward)
        return self

    def __exit__(self, kind, error, trace):
        self._handle.remove()
        return False

    def _on_forward(self, module, args, output):
        name = self._names.get(module)
        if (
            name is None
            or not isinstance(output, torch.Tensor)
            or output.dtype
            not in (
                torch.float16,
                torch.bfloat16,
                torch.float32,
                torch.float64,
            )
        ):
            return
        values = output.detach().cpu().double().numpy()
        self.stats[name] = {
            "mean": float(values.mean()),
            "std": float(values.std()),
            "zero_fraction": float((values == 0.0).mean()),
            "finite": bool(np.isfinite(values).all()),
        }


def first_nonfinite(model, *inputs):
    names = {module: name for name, module in model.named_modules()}
    answer = None

    def broken(value):
        match value:
            case torch.Tensor():
                return not torch.isfinite(value).all().item()
            case tuple() | list():
                return any(map(broken, value))
        return False

    def hook(module, args, output):
        nonlocal answer
        if answer is None and module in names and broken(output):
            answer = names[module]

    handle = register_module_forward_hook(hook)
    try:
        with torch.inference_mode():
            model(*inputs)
    finally:
        handle.remove()
    return answer
