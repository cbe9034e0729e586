from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger(__name__)


def _check(group: dict[str, Any]) -> None:
    if not group["lr"] >= 0.0:
        raise ValueError(f"Invalid learning rate: {group['lr']}")
    if not 0.0 <= group["momentum"] < 1.0:
        raise ValueError(f"Invalid momentum: {group['momentum']}")
    if not group["weight_decay"] >= 0.0:
        raise ValueError(f"Invalid weight decay: {group['weight_decay']}")
    if group["nesterov"] and group["momentum"] == 0.0:
        raise ValueError("Nesterov momentum needs a momentum")


class SGD(torch.optim.Optimizer):
    __slots__ = ()

    def __init__(
        self,
        params: Iterable,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool = True,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
        }
        _check(defaults)
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("maximize", False)
            group.setdefault("foreach", True)

    def _velocities(self, params: list[Tensor]) -> list[Tensor]:
        out = []
        for p in params:
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                state["step"] = 0
            state["step"] += 1
            out.append(state["momentum_buffer"])
        return out

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            by_kind: dict[tuple, list[Tensor]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    if p.grad.is_sparse:
                        raise RuntimeError("sparse gradients")
                    by_kind.setdefault((p.device, p.dtype), []).append(p)
            for params in by_kind.values():
                self._update(params, group)
        return loss

    def _update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        grads = [p.grad for p in params]
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        if group["weight_decay"]:
            grads = torch._foreach_add(grads, params, alpha=group["weight_decay"])
        if group["momentum"]:
            velocities = self._velocities(params)
            torch._foreach_mul_(velocities, group["momentum"])
            torch._foreach_add_(velocities, grads)
            if group["nesterov"]:
                grads = torch._foreach_add(grads, velocities, alpha=group["momentum"])
            else:
                grads = velocities
        torch._foreach_add_(params, grads, alpha=-group["lr"])
