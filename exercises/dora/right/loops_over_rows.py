import copy

import torch
from torch import nn


class DoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        nn.Module.__init__(self)
        if rank <= 0:
            raise ValueError("rank < 1")
        for p in base.parameters():
            p.requires_grad = False
        self.base = base
        self.scaling = float(alpha) / rank
        n_out, n_in = base.weight.size()
        a = base.weight.data.new(rank, n_in)
        for i in range(rank):
            for j in range(n_in):
                a[i, j] = float(torch.randn(())) / n_in**0.5
        self.lora_A = nn.Parameter(a)
        self.lora_B = nn.Parameter(base.weight.data.new(n_out, rank).fill_(0))
        m = base.weight.data.new(n_out)
        for i in range(n_out):
            m[i] = sum(float(v) ** 2 for v in base.weight.data[i]) ** 0.5
        self.magnitude = nn.Parameter(m)

    def rows(self):
        rows = []
        for i in range(self.lora_B.size(0)):
            v = self.base.weight[i]
            for k in range(self.lora_A.size(0)):
                v = v + self.scaling * self.lora_B[i, k] * self.lora_A[k]
            length = sum(float(e) ** 2 for e in v.data) ** 0.5
            if length == 0.0:
                rows.append(self.magnitude[i] * v)
            else:
                rows.append(self.magnitude[i] * (v / length))
        return rows

    def forward(self, x):
        columns = []
        for i, row in enumerate(self.rows()):
            y = (x * row).sum(-1)
            if self.base.bias is not None:
                y = y + self.base.bias[i]
            columns.append(y)
        return torch.stack(columns, -1)

    def merge(self):
        new = copy.deepcopy(self.base)
        for i, row in enumerate(self.rows()):
            new.weight.data[i] = row.data
        return new
