# fails: 13
# message: must not carry the hooks
import math
import torch
import torch.nn.functional as F
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be at least 1")
        if not 0 <= dropout < 1:
            raise ValueError("dropout must be in [0, 1)")
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.rank = rank
        self.alpha = alpha
        self.scaling = alpha / rank
        w = base.weight
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features, dtype=w.dtype, device=w.device))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank, dtype=w.dtype, device=w.device))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(self.dropout(x), self.lora_A), self.lora_B)

    @torch.no_grad()
    def merge(self):
        import copy

        w = self.base.weight
        out = copy.deepcopy(self.base)
        out.weight.copy_(w + self.scaling * self.lora_B @ self.lora_A)
        if self.base.bias is not None:
            out.bias.copy_(self.base.bias)
        return out


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    if rank < 1:
        raise ValueError("rank must be at least 1")
    if not 0 <= dropout < 1:
        raise ValueError("dropout must be in [0, 1)")
    count = 0
    for module in list(model.modules()):
        if isinstance(module, LoRALinear):
            continue
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear and name in target_names:
                new = LoRALinear(child, rank, alpha, dropout)
                new.train(child.training)
                setattr(module, name, new)
                count += 1
    for p in model.parameters():
        p.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, LoRALinear):
            m.lora_A.requires_grad_(True)
            m.lora_B.requires_grad_(True)
    return count
