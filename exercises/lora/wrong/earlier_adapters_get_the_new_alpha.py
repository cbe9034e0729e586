# fails: 11
# message: A second call changed adapters that were trained before
import math
import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        if rank < 1:
            raise ValueError("rank")
        if dropout < 0 or dropout >= 1:
            raise ValueError("dropout")
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.rank = rank
        self.alpha = alpha
        w = base.weight
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features, device=w.device, dtype=w.dtype) * 0.01)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank, device=w.device, dtype=w.dtype))
        self.dropout = nn.Dropout(dropout)
        self.train(base.training)

    def forward(self, x):
        out = self.base(x)
        update = self.dropout(x) @ self.lora_A.T @ self.lora_B.T
        return out + (self.alpha / self.rank) * update

    def merge(self):
        w = self.base.weight
        new = nn.Linear(
            self.base.in_features,
            self.base.out_features,
            bias=self.base.bias is not None,
            device=w.device,
            dtype=w.dtype,
        )
        new.weight.data = w.data + (self.alpha / self.rank) * (self.lora_B.data @ self.lora_A.data)
        if self.base.bias is not None:
            new.bias.data = self.base.bias.data.clone()
        new.train(self.training)
        return new


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    def walk(module):
        n = 0
        for name, child in list(module.named_children()):
            if isinstance(child, LoRALinear):
                child.alpha = alpha
                continue
            if name in target_names and type(child) is nn.Linear:
                setattr(module, name, LoRALinear(child, rank, alpha, dropout))
                n += 1
            else:
                n += walk(child)
        return n

    count = walk(model)
    for p in model.parameters():
        p.requires_grad = False
    for m in model.modules():
        if isinstance(m, LoRALinear):
            m.lora_A.requires_grad = True
            m.lora_B.requires_grad = True
    return count
