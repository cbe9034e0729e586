import torch
from torch import nn


def _orthogonalize(wide, steps, eps):
    """In place, for a float32 or float64 matrix that is not taller than wide."""
    wide /= torch.linalg.matrix_norm(wide) + eps
    identity = torch.eye(wide.shape[0], dtype=wide.dtype, device=wide.device)
    for _ in range(steps):
        gram = torch.mm(wide, wide.mT)
        polynomial = torch.addmm(3.4445 * identity - 4.7750 * gram, gram, gram, alpha=2.0315)
        wide = torch.mm(polynomial, wide)
    return wide


def newton_schulz(g, steps=5, eps=1e-7):
    if len(g.shape) != 2:
        raise ValueError("newton_schulz takes matrices")
    m, n = g.shape
    kind = torch.promote_types(g.dtype, torch.float32)
    if m > n:
        return _orthogonalize(g.mT.to(kind, copy=True), steps, eps).mT.to(g.dtype)
    return _orthogonalize(g.to(kind, copy=True), steps, eps).to(g.dtype)


def _check(name, value, ok):
    if not ok:
        raise ValueError(f"invalid {name}: {value}")


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.0, ns_steps=5):
        params = list(params)
        _check("lr", lr, lr >= 0)
        _check("momentum", momentum, 0.0 <= momentum < 1.0)
        _check("weight_decay", weight_decay, weight_decay >= 0)
        _check("ns_steps", ns_steps, ns_steps >= 1)
        for entry in params:
            tensors = entry["params"] if isinstance(entry, dict) else [entry]
            for p in [tensors] if isinstance(tensors, torch.Tensor) else tensors:
                _check("dimensions", p.dim(), p.dim() >= 2)
        defaults = {"lr": lr, "momentum": momentum, "nesterov": nesterov}
        super().__init__(params, {**defaults, "weight_decay": weight_decay, "ns_steps": ns_steps})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            pairs = [(p, p.grad) for p in group["params"] if p.grad is not None]
            for p, grad in pairs:
                state = self.state[p]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(p)
                m = state["momentum_buffer"]
                beta = group["momentum"]
                m.mul_(beta).add_(grad, alpha=1 - beta)
                u = m.clone()
                if group["nesterov"]:
                    u.mul_(beta).add_(grad, alpha=1 - beta)
                rows = p.shape[0]
                columns = p.numel() // rows
                o = newton_schulz(u.reshape(rows, columns), group["ns_steps"])
                step_size = group["lr"] * (rows / columns if rows > columns else 1.0) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(step_size * o.reshape(p.shape))
        return loss


def split_parameters(model, exclude=()):
    excluded = {*exclude}
    banned = set()
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            banned.add(module.weight)
    lists = [], []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            stays = parameter.dim() < 2 or parameter in banned or not excluded.isdisjoint(name.split("."))
            lists[stays].append(parameter)
    return lists
