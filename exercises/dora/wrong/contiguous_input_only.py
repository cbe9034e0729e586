# fails: 10
# message: view size is not compatible
import torch
import torch.nn.functional as F
from torch import nn


class DoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be at least 1")
        self.base = base
        base.requires_grad_(False)
        w = base.weight
        self.scaling = alpha / rank
        self.lora_A = nn.Parameter(torch.randn(rank, w.shape[1], dtype=w.dtype, device=w.device) / rank)
        self.lora_B = nn.Parameter(torch.zeros(w.shape[0], rank, dtype=w.dtype, device=w.device))
        self.magnitude = nn.Parameter(torch.linalg.vector_norm(w.detach(), dim=1))

    def adapted(self):
        v = self.base.weight + self.scaling * (self.lora_B @ self.lora_A)
        norm = torch.linalg.vector_norm(v.detach(), dim=1)
        norm = torch.where(norm == 0, torch.ones_like(norm), norm)
        return (self.magnitude / norm).unsqueeze(1) * v

    def forward(self, x):
        x = x.view(-1, x.shape[-1]).view(x.shape)
        return F.linear(x, self.adapted(), self.base.bias)

    def merge(self):
        w = self.base.weight
        out = nn.Linear(
            w.shape[1], w.shape[0], bias=self.base.bias is not None, dtype=w.dtype, device=w.device
        )
        with torch.no_grad():
            out.weight.copy_(self.adapted())
            if out.bias is not None:
                out.bias.copy_(self.base.bias)
        return out
