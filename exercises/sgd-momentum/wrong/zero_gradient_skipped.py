# fails: 2
# message: a gradient of zeros moves it too
import torch


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        if lr < 0 or not 0 <= momentum < 1 or weight_decay < 0 or (nesterov and momentum == 0):
            raise ValueError("argument")
        super().__init__(
            params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
        )

    def _direction(self, p, momentum, weight_decay, nesterov):
        g = torch.add(p.grad, p, alpha=weight_decay)
        if momentum == 0:
            return g
        memory = self.state[p]
        memory["v"] = memory["v"] * momentum + g if "v" in memory else g.clone()
        return g + momentum * memory["v"] if nesterov else memory["v"]

    def step(self, closure=None):
        value = None
        if closure is not None:
            with torch.enable_grad():
                value = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for p in (p for p in group["params"] if p.grad is not None and bool(p.grad.any())):
                    d = self._direction(p, group["momentum"], group["weight_decay"], group["nesterov"])
                    p.sub_(group["lr"] * d)
        return value
