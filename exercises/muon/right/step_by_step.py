"""Plain steps, computed in float64 where it costs little."""

import torch


def newton_schulz(g, steps=5, eps=1e-7):
    if g.dim() != 2:
        raise ValueError("two dimensions")
    matrix = g.detach().double()
    length = 0.0
    for row in matrix:
        length += torch.dot(row, row)
    matrix = matrix.div(length**0.5 + eps)
    flip = matrix.shape[0] > matrix.shape[1]
    if flip:
        matrix = matrix.transpose(0, 1)
    for _ in range(steps):
        first = matrix.matmul(matrix.transpose(0, 1))
        second = first.matmul(first)
        matrix = matrix.mul(3.4445) + (first.mul(-4.775) + second.mul(2.0315)).matmul(matrix)
    if flip:
        matrix = matrix.transpose(0, 1)
    return matrix.type(g.dtype)


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.0, ns_steps=5):
        if lr < 0:
            raise ValueError("lr")
        if momentum < 0 or momentum >= 1:
            raise ValueError("momentum")
        if weight_decay < 0:
            raise ValueError("weight_decay")
        if ns_steps < 1:
            raise ValueError("ns_steps")
        names = ("lr", "momentum", "nesterov", "weight_decay", "ns_steps")
        super().__init__(params, dict(zip(names, (lr, momentum, nesterov, weight_decay, ns_steps))))
        if min(p.dim() for group in self.param_groups for p in group["params"]) < 2:
            raise ValueError("vectors are for AdamW")

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.grad.detach()
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros(p.shape, dtype=p.dtype, device=p.device)
                state["momentum_buffer"] = torch.lerp(g, state["momentum_buffer"], group["momentum"])
                u = state["momentum_buffer"]
                if group["nesterov"]:
                    u = torch.lerp(g, u, group["momentum"])
                m = p.shape[0]
                n = 1
                for size in p.shape[1:]:
                    n *= size
                o = newton_schulz(u.contiguous().view(m, n), group["ns_steps"]).reshape(p.shape)
                factor = (m / n) ** 0.5 if m > n else 1
                value = p.data
                value -= group["lr"] * group["weight_decay"] * value
                value -= group["lr"] * factor * o
        return loss


def split_parameters(model, exclude=()):
    muon, adamw = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        use = p.dim() > 1
        for module in model.modules():
            if isinstance(module, torch.nn.Embedding) and module.weight is p:
                use = False
        for part in name.split("."):
            if part in exclude:
                use = False
        (muon if use else adamw).append(p)
    return muon, adamw
