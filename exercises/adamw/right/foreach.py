import math

import torch
from torch.optim import Optimizer


class AdamW(Optimizer):
    """The same update in the efficient form: step size and denominator carry the corrections."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        for name, value in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
            if value < 0.0:
                raise ValueError(f"invalid {name}: {value}")
        beta1, beta2 = betas
        if beta1 < 0 or beta1 >= 1 or beta2 < 0 or beta2 >= 1:
            raise ValueError(f"invalid betas: {betas}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def step(self, closure=None):
        loss = None
        if closure:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                self._update(group)
        return loss

    def _update(self, group):
        beta1, beta2 = group["betas"]
        params = [p for p in group["params"] if p.grad is not None]
        if not params:
            return
        grads = [p.grad for p in params]
        for p in params:
            if len(self.state[p]) == 0:
                self.state[p].update(
                    step=torch.zeros(()), exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p)
                )
            self.state[p]["step"] += 1
        m = [self.state[p]["exp_avg"] for p in params]
        v = [self.state[p]["exp_avg_sq"] for p in params]
        torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_lerp_(m, grads, 1 - beta1)
        torch._foreach_mul_(v, beta2)
        torch._foreach_addcmul_(v, grads, grads, 1 - beta2)
        for p, first, second in zip(params, m, v):
            t = self.state[p]["step"].item()
            denominator = (second.sqrt() / math.sqrt(1 - beta2**t)).add_(group["eps"])
            p.addcdiv_(first, denominator, value=-group["lr"] / (1 - beta1**t))
