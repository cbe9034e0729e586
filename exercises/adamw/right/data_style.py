import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        if not lr >= 0:
            raise ValueError("lr")
        if not (0 <= betas[0] < 1 and 0 <= betas[1] < 1):
            raise ValueError("betas")
        if not eps >= 0:
            raise ValueError("eps")
        if not weight_decay >= 0:
            raise ValueError("weight_decay")
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        super(AdamW, self).__init__(params, defaults)

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.set_grad_enabled(True):
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.grad.data
                s = self.state[p]
                t = s.get("t", 0) + 1
                m = b1 * s.get("m", 0.0) + (1 - b1) * g
                v = b2 * s.get("v", 0.0) + (1 - b2) * g.square()
                s["t"], s["m"], s["v"] = t, m, v
                shrunk = p.data - group["lr"] * group["weight_decay"] * p.data
                m_hat, v_hat = m / (1 - b1**t), v / (1 - b2**t)
                p.data.copy_(shrunk - group["lr"] * m_hat / (torch.sqrt(v_hat) + group["eps"]))
        return loss
