# fails: 9
# message: momentum is gone
from collections.abc import Callable, Iterable

import torch


class SGD(torch.optim.Optimizer):
    """Stochastic gradient descent with classical or Nesterov momentum."""

    def __init__(
        self,
        params: Iterable,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if lr < 0:
            raise ValueError("lr must not be negative")
        if not 0 <= momentum < 1:
            raise ValueError("momentum must lie in [0, 1)")
        if weight_decay < 0:
            raise ValueError("weight_decay must not be negative")
        if nesterov and momentum == 0:
            raise ValueError("nesterov needs momentum")
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(params, defaults)
        self.seen = set()

    @torch.no_grad()
    def step(self, closure: Callable[[], torch.Tensor] | None = None) -> torch.Tensor | None:
        """Update every parameter that has a gradient; return the closure's value, if there is a closure."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            momentum = group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                direction = p.grad.add(p, alpha=group["weight_decay"])
                if momentum:
                    state = self.state[p]
                    if p not in self.seen:
                        self.seen.add(p)
                        state["velocity"] = torch.zeros_like(p)
                    velocity = state["velocity"]
                    velocity.mul_(momentum).add_(direction)
                    direction = direction + momentum * velocity if group["nesterov"] else velocity
                p.sub_(group["lr"] * direction)
        return loss
