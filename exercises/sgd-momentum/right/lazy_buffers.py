import torch


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        self._check(lr, momentum, weight_decay, nesterov)
        super(SGD, self).__init__(
            params,
            defaults={"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov},
        )

    @staticmethod
    def _check(lr, momentum, weight_decay, nesterov):
        if not (lr >= 0 and 0 <= momentum < 1 and weight_decay >= 0):
            raise ValueError("lr >= 0, 0 <= momentum < 1 and weight_decay >= 0 are needed")
        if nesterov and momentum == 0:
            raise ValueError("Nesterov without momentum")

    @torch.no_grad()
    def step(self, closure=None):
        loss = torch.enable_grad()(closure)() if closure else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.copy_(p - group["lr"] * self._direction(p, p.grad.clone(), group))
        return loss

    def _direction(self, p, g, group):
        if group["weight_decay"]:
            g += group["weight_decay"] * p
        mu = group["momentum"]
        if not mu:
            return g
        buffer = self.state[p].setdefault("buffer", torch.zeros_like(p, memory_format=torch.preserve_format))
        torch.add(g, buffer, alpha=mu, out=buffer)
        return torch.add(g, buffer, alpha=mu) if group["nesterov"] else buffer
