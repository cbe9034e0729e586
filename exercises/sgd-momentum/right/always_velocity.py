from typing import Callable, Iterable, Optional

import torch
from torch import Tensor
from torch.optim import Optimizer


class InvalidOption(ValueError):
    pass


class SGD(Optimizer):
    """Keeps a velocity even without momentum, where it equals the gradient."""

    def __init__(
        self,
        params: Iterable,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        for bad, name in (
            (lr < 0, "lr"),
            (not 0 <= momentum < 1, "momentum"),
            (weight_decay < 0, "weight_decay"),
            (nesterov and momentum <= 0, "nesterov"),
        ):
            if bad:
                raise InvalidOption(name)
        super().__init__(
            params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
        )

    def step(self, closure: Optional[Callable[[], Tensor]] = None) -> Optional[Tensor]:
        result = None
        if closure is not None:
            with torch.set_grad_enabled(True):
                result = closure()
        for group in self.param_groups:
            mu = group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.grad.detach() + group["weight_decay"] * p.detach()
                v = mu * self.state[p].get("v", 0) + g
                self.state[p]["v"] = v
                p.data -= group["lr"] * (g + mu * v if group["nesterov"] else v)
        return result
