# fails: 13
# message: use the present ones
import torch
import math


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        if lr < 0:
            raise ValueError("lr < 0")
        if eps < 0:
            raise ValueError("eps < 0")
        if weight_decay < 0:
            raise ValueError("weight_decay < 0")
        for b in betas:
            if b < 0 or b >= 1:
                raise ValueError("beta")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                beta1, beta2 = group["betas"]
                lr = group["lr"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = 0
                        state["b1"] = state["b2"] = 1.0
                        state["m"] = torch.zeros_like(p)
                        state["v"] = torch.zeros_like(p)
                    state["step"] += 1
                    state["b1"] *= beta1
                    state["b2"] *= beta2
                    t = state["step"]
                    g = p.grad
                    p.mul_(1 - lr * group["weight_decay"])
                    state["m"] = beta1 * state["m"] + (1 - beta1) * g
                    state["v"] = beta2 * state["v"] + (1 - beta2) * g * g
                    m_hat = state["m"] / (1 - state["b1"])
                    v_hat = state["v"] / (1 - state["b2"])
                    p.sub_(lr * m_hat / (v_hat.sqrt() + group["eps"]))
        return loss
