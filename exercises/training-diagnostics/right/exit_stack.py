from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True, slots=True)
class _Entry:
    mean: float
    std: float
    zero_fraction: float
    finite: bool

    @classmethod
    @torch.no_grad()
    def of(cls, x: Tensor) -> _Entry:
        flat = x.detach().reshape(-1).to(torch.float64)
        var, mean = torch.var_mean(flat, correction=0)
        return cls(
            mean.item(),
            var.sqrt().item(),
            1.0 - torch.count_nonzero(flat).item() / max(1, flat.numel()),
            flat.isfinite().all().item(),
        )


def global_grad_norm(model: nn.Module, *, norm_type: float = 2.0) -> float:
    grads = [p.grad.detach() for p in model.parameters() if p.grad is not None]
    if not grads:
        return 0.0
    norms = [torch.linalg.vector_norm(g, norm_type, dtype=torch.float64).item() for g in grads]
    if any(math.isnan(n) for n in norms):
        return math.nan
    return math.hypot(*norms)


@contextlib.contextmanager
def _hooks(model: nn.Module, make, only_leaves: bool = False) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():
            if only_leaves and next(module.children(), None) is not None:
                continue
            stack.callback(module.register_forward_hook(partial(make, name)).remove)
        yield


class ActivationMonitor(contextlib.AbstractContextManager):
    def __init__(self, model: nn.Module, *, enabled: bool = True) -> None:
        self._model, self._enabled = model, enabled
        self.stats: dict[str, dict[str, float]] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self._enabled:
            self._stack.enter_context(_hooks(self._model, self._see, only_leaves=True))
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stack.close()

    def _see(self, name: str, module: nn.Module, args: tuple, out: Any) -> None:
        if torch.is_tensor(out) and torch.is_floating_point(out):
            self.stats[name] = asdict(_Entry.of(out))


def first_nonfinite(model: nn.Module, *inputs: Any, **kwargs: Any) -> str | None:
    hits: list[str] = []

    def look(name: str, module: nn.Module, args: tuple, out: Any) -> None:
        if not hits and any(torch.is_tensor(t) and not torch.isfinite(t).all() for t in tree_leaves(out)):
            hits.append(name)

    with _hooks(model, look), torch.no_grad():
        model(*inputs, **kwargs)
    return next(iter(hits), None)
