# fails: 6
# message: correction of step 10
from collections.abc import Callable, Iterable

import torch


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        if lr < 0:
            raise ValueError("lr must not be negative")
        if eps < 0:
            raise ValueError("eps must not be negative")
        if weight_decay < 0:
            raise ValueError("weight_decay must not be negative")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError("betas must lie in [0, 1)")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], torch.Tensor] | None = None) -> torch.Tensor | None:
        """Update every parameter that has a gradient; return the closure's value, if there is a closure."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            group["t"] = group.get("t", 0) + 1
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                    state["v"] = torch.zeros_like(p)
                p.mul_(1 - lr * group["weight_decay"])
                state["m"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                m = state["m"] / (1 - beta1 ** group["t"])
                v = state["v"] / (1 - beta2 ** group["t"])
                p.sub_(lr * m / (v.sqrt() + group["eps"]))
        return loss
