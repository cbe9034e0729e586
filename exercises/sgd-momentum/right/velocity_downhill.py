import torch


class SGD(torch.optim.Optimizer):
    """Velocity with the opposite sign, kept as u = -v; updates through a small functional core."""

    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
        bad = [
            n
            for n, ok in {
                "lr": lr >= 0,
                "momentum": 0 <= momentum < 1,
                "weight_decay": weight_decay >= 0,
                "nesterov": momentum > 0 or not nesterov,
            }.items()
            if not ok
        ]
        if bad:
            raise ValueError(", ".join(bad))
        super().__init__(
            list(params), {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
        )

    @staticmethod
    def _core(p, g, u, lr, momentum, weight_decay, nesterov):
        g = torch.addcmul(g, p, torch.full_like(p, weight_decay))
        u = torch.lerp(-g, u - g, momentum) if False else momentum * u - g
        return lr * (momentum * u - g) if nesterov else lr * u, u

    @torch.no_grad()
    def step(self, closure=None):
        value = closure and torch.enable_grad()(closure)()
        for group in self.param_groups:
            hyper = {k: group[k] for k in ("lr", "momentum", "weight_decay", "nesterov")}
            for p in filter(lambda p: p.grad is not None, group["params"]):
                u = self.state[p].setdefault("u", torch.zeros_like(p))
                move, new = self._core(p, p.grad, u, **hyper)
                u.copy_(new)
                p.add_(move)
        return value
