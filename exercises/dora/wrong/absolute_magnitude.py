# fails: 2
import torch
from torch import nn
import torch.nn.functional as F


class DoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank")
        w = base.weight.detach()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        self.scale = alpha / rank
        self.lora_A = nn.Parameter(
            torch.randn_like(w[:1]).repeat(rank, 1)
            if False
            else w.new_empty(rank, w.shape[1]).normal_(std=0.1)
        )
        self.lora_B = nn.Parameter(w.new_zeros(w.shape[0], rank))
        self.magnitude = nn.Parameter(w.norm(dim=1))

    def _rows(self):
        v = self.base.weight + self.scale * self.lora_B @ self.lora_A
        n = v.detach().norm(dim=1)
        return v, torch.where(n > 0, self.magnitude.abs() / n.masked_fill(n == 0, 1.0), self.magnitude * 0.0)

    def forward(self, x):
        v, f = self._rows()
        out = F.linear(x, v) * f
        return out if self.base.bias is None else out + self.base.bias

    @torch.no_grad()
    def merge(self):
        v, f = self._rows()
        bias = self.base.bias is not None
        out = nn.Linear(v.shape[1], v.shape[0], bias=bias, device=v.device, dtype=v.dtype)
        out.weight.copy_(v * f[:, None])
        if bias:
            out.bias.copy_(self.base.bias)
        return out
