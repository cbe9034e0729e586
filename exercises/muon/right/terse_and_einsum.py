import torch
from torch.nn import Embedding


def newton_schulz(g, steps=5, eps=1e-7):
    if g.ndim != 2:
        raise ValueError(f"expected 2 dimensions, got {g.ndim}")
    x = g if g.dtype == torch.float64 else g.to(torch.float32)
    x = x / (torch.sqrt(torch.sum(x * x)) + eps)
    rows = x.shape[0] <= x.shape[1]
    for _ in range(steps):
        if rows:
            a = torch.einsum("ik,jk->ij", x, x)
            x = 3.4445 * x + torch.einsum(
                "ij,jk->ik", -4.7750 * a + 2.0315 * torch.einsum("ij,jk->ik", a, a), x
            )
        else:
            a = torch.einsum("ki,kj->ij", x, x)
            x = 3.4445 * x + torch.einsum(
                "ki,ij->kj", x, -4.7750 * a + 2.0315 * torch.einsum("ij,jk->ik", a, a)
            )
    return x.to(g.dtype)


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.0, ns_steps=5):
        if lr < 0 or weight_decay < 0 or ns_steps < 1 or momentum < 0 or momentum >= 1:
            raise ValueError("bad settings")
        super().__init__(
            params,
            dict(lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay, ns_steps=ns_steps),
        )

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim < 2:
                raise ValueError("a matrix is needed")

    def step(self, closure=None):
        with torch.enable_grad():
            loss = closure() if closure else None
        with torch.no_grad():
            for group in self.param_groups:
                beta, lr = group["momentum"], group["lr"]
                for p in filter(lambda p: p.grad is not None, group["params"]):
                    old = self.state[p].get("momentum_buffer", torch.zeros_like(p))
                    m = self.state[p]["momentum_buffer"] = beta * old + (1 - beta) * p.grad
                    u = beta * m + (1 - beta) * p.grad if group["nesterov"] else m
                    flat = u.flatten(1)
                    scale = max(1, flat.shape[0] / flat.shape[1]) ** 0.5
                    o = newton_schulz(flat, group["ns_steps"]).unflatten(1, p.shape[1:])
                    p.copy_(p - lr * group["weight_decay"] * p - lr * scale * o)
        return loss


def split_parameters(model, exclude=()):
    embeddings = [m.weight for m in model.modules() if isinstance(m, Embedding)]

    def is_muon(name, p):
        if p.ndim < 2 or any(p is e for e in embeddings):
            return False
        return not set(name.split(".")) & set(exclude)

    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return [p for n, p in trained if is_muon(n, p)], [p for n, p in trained if not is_muon(n, p)]
