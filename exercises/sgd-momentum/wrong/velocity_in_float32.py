# fails: 14
# message: Buffers take the dtype
import torch


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        if lr < 0:
            raise ValueError("lr")
        if not 0 <= momentum < 1:
            raise ValueError("momentum")
        if weight_decay < 0:
            raise ValueError("weight_decay")
        if nesterov and momentum == 0:
            raise ValueError("nesterov needs momentum")
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov))

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                m = group["momentum"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    g = p.grad
                    if group["weight_decay"] != 0:
                        g = g + group["weight_decay"] * p
                    if m != 0:
                        state = self.state[p]
                        if "v" not in state:
                            state["v"] = g.clone().to(torch.promote_types(g.dtype, torch.float32))
                        else:
                            state["v"] = m * state["v"] + g
                        v = state["v"]
                        g = g + m * v if group["nesterov"] else v
                    p -= (group["lr"] * g).to(p.dtype)
        return loss
