import math

import torch
from torch import nn
from torch.nn import functional as F


class DoRALinear(nn.Module):
    """Never builds the adapted weight in forward: scales the outputs of two small products instead."""

    def __init__(self, base, rank, alpha):
        if rank < 1:
            raise ValueError(f"rank={rank}")
        super().__init__()
        self.linear = base
        for p in base.parameters():
            p.requires_grad = False
        w = base.weight
        self.lora_A = nn.Parameter(w.new_empty(rank, base.in_features))
        self.lora_B = nn.Parameter(w.new_zeros(base.out_features, rank))
        self.magnitude = nn.Parameter(torch.linalg.vector_norm(w.data, dim=-1))
        self.rank, self.alpha = rank, alpha
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    @property
    def scale(self):
        return self.alpha / self.rank

    def _lengths(self):
        with torch.no_grad():
            v = self.linear.weight + self.scale * (self.lora_B @ self.lora_A)
            n = torch.linalg.vector_norm(v, dim=-1)
            return n.masked_fill(n == 0, 1)

    def forward(self, x):
        y = F.linear(x, self.linear.weight) + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B)
        y = y * (self.magnitude / self._lengths())
        return y if self.linear.bias is None else y + self.linear.bias

    def merge(self):
        v = self.linear.weight.data + self.scale * (self.lora_B.data @ self.lora_A.data)
        out = nn.Linear(self.linear.in_features, self.linear.out_features, bias=self.linear.bias is not None)
        out.weight = nn.Parameter(v * (self.magnitude.data / self._lengths()).unsqueeze(1))
        if self.linear.bias is not None:
            out.bias = nn.Parameter(self.linear.bias.data.clone())
        return out
