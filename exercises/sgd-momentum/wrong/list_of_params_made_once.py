# fails: 12
# message: add_param_group
import torch


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        if lr < 0:
            raise ValueError("lr must not be negative")
        if not 0 <= momentum < 1:
            raise ValueError("momentum must lie in [0, 1)")
        if weight_decay < 0:
            raise ValueError("weight_decay must not be negative")
        if nesterov and momentum == 0:
            raise ValueError("nesterov needs momentum")
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov))
        self.pairs = [(p, i) for i, g in enumerate(self.param_groups) for p in g["params"]]

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for p, i in self.pairs:
            group = self.param_groups[i]
            lr, m, wd = group["lr"], group["momentum"], group["weight_decay"]
            if 1:
                if p.grad is None:
                    continue
                g = p.grad
                if wd != 0:
                    g = g + wd * p
                if m != 0:
                    state = self.state[p]
                    if "v" not in state:
                        state["v"] = torch.clone(g).detach()
                    else:
                        state["v"].mul_(m).add_(g)
                    v = state["v"]
                    g = g + m * v if group["nesterov"] else v
                p.sub_(lr * g)
        return loss
