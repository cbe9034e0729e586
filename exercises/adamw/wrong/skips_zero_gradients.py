# fails: 3
# message: a gradient like any other
"""The moments are kept corrected: running weighted means, whose weights add up to one."""

import torch
from torch.optim import Optimizer


class AdamW(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        for name, value in {"lr": lr, "eps": eps, "weight_decay": weight_decay}.items():
            if not value >= 0:
                raise ValueError(f"{name} = {value}")
        if any(not 0 <= b < 1 for b in betas):
            raise ValueError(f"betas = {betas}")
        super().__init__(params, dict(lr=lr, betas=tuple(betas), eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure and torch.enable_grad()(closure)()
        for g in self.param_groups:
            for p in filter(lambda p: p.grad is not None, g["params"]):
                s = self.state.setdefault(p, {})
                if "step" not in s:
                    s["step"] = torch.zeros((), dtype=torch.float64)
                    s["mean"], s["square"] = p.new_zeros(p.shape), p.new_zeros(p.shape)
                s["step"] += 1
                if not p.grad.any():
                    p.mul_(1 - g["lr"] * g["weight_decay"])
                    continue
                t = int(s["step"])
                for key, value, beta in (
                    ("mean", p.grad, g["betas"][0]),
                    ("square", p.grad**2, g["betas"][1]),
                ):
                    share = (1 - beta) / (1 - beta**t)
                    s[key].mul_(1 - share).add_(value, alpha=share)
                p.copy_(p - g["lr"] * (g["weight_decay"] * p + s["mean"] / (s["square"].sqrt() + g["eps"])))
        return loss
