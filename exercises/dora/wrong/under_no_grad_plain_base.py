# fails: 2
# message: no_grad
import torch
import torch.nn.functional as F
from torch import nn


class DoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be at least 1")
        self.base = base
        for p in base.parameters():
            p.requires_grad = False
        w = base.weight
        self.rank = rank
        self.alpha = alpha
        self.lora_A = nn.Parameter(torch.randn(rank, w.shape[1], dtype=w.dtype, device=w.device) * 0.02)
        self.lora_B = nn.Parameter(torch.zeros(w.shape[0], rank, dtype=w.dtype, device=w.device))
        self.magnitude = nn.Parameter(w.detach().norm(dim=1))

    def adapted(self):
        V = self.base.weight + self.alpha / self.rank * (self.lora_B @ self.lora_A)
        norm = V.detach().norm(dim=1)
        norm = torch.where(norm == 0, torch.ones_like(norm), norm)
        return (self.magnitude / norm)[:, None] * V

    def forward(self, x):
        if not torch.is_grad_enabled():
            return self.base(x)
        return F.linear(x, self.adapted(), self.base.bias)

    def merge(self):
        with torch.no_grad():
            W = self.adapted()
            out = nn.Linear(
                W.shape[1], W.shape[0], bias=self.base.bias is not None, dtype=W.dtype, device=W.device
            )
            out.weight.copy_(W)
            if self.base.bias is not None:
                out.bias.copy_(self.base.bias)
        return out
