import torch
from torch import nn
from torch.nn.functional import linear


class _Rescale(torch.autograd.Function):
    """magnitude * V / ||V|| with the norm a constant."""

    @staticmethod
    def forward(ctx, v, m):
        n = v.norm(dim=1, keepdim=True)
        u = torch.where(n > 0, v / n, torch.zeros_like(v))
        f = torch.where(n > 0, m[:, None] / n, torch.zeros_like(n))
        ctx.save_for_backward(u, f)
        return u * m[:, None]

    @staticmethod
    def backward(ctx, g):
        u, f = ctx.saved_tensors
        return g * f, (g * u).sum(1)


class DoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        if not rank >= 1:
            raise ValueError("rank")
        weight = base.weight
        weight.requires_grad_(False)
        if base.bias is not None:
            base.bias.requires_grad_(False)
        self.register_buffer("w", weight.data)
        self.register_buffer("b", None if base.bias is None else base.bias.data)
        self.f = alpha / rank
        self.lora_A = nn.Parameter(torch.rand(rank, weight.shape[1]).to(weight) - 0.5)
        self.lora_B = nn.Parameter(torch.zeros(weight.shape[0], rank).to(weight))
        self.magnitude = nn.Parameter(weight.norm(dim=1).clone())

    def forward(self, x):
        v = torch.add(self.w, self.lora_B @ self.lora_A, alpha=self.f)
        return linear(x, _Rescale.apply(v, self.magnitude), self.b)

    def merge(self):
        o, i = self.w.shape
        with torch.no_grad():
            layer = nn.Linear(i, o, bias=self.b is not None).to(self.w)
            v = torch.add(self.w, self.lora_B @ self.lora_A, alpha=self.f)
            layer.weight.data = _Rescale.apply(v, self.magnitude).clone()
            if self.b is not None:
                layer.bias.data = self.b.clone()
        return layer
