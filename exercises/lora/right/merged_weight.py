import torch
import torch.nn.functional as F
from torch import nn


class LoRALinear(nn.Module):
    """Adds the update to the weight when nothing is dropped: one matrix product, the same result."""

    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        if rank < 1:
            raise ValueError("rank")
        if dropout < 0 or dropout >= 1:
            raise ValueError("dropout")
        for p in base.parameters():
            p.requires_grad_(False)
        self.linear = base
        self.rank = rank
        self.alpha = alpha
        self.dropout = nn.Dropout(p=dropout) if dropout else nn.Identity()
        a = torch.empty((rank, base.in_features), dtype=base.weight.dtype, device=base.weight.device)
        self.lora_A = nn.Parameter(nn.init.xavier_normal_(a))
        self.lora_B = nn.Parameter(a.new_zeros((base.out_features, rank)))
        self.train(mode=base.training)

    @property
    def delta(self):
        return self.lora_B.mm(self.lora_A).mul(self.alpha / self.rank)

    def forward(self, x):
        if self.training and isinstance(self.dropout, nn.Dropout):
            return self.linear(x) + F.linear(self.dropout(x), self.delta)
        return F.linear(x, self.linear.weight + self.delta, self.linear.bias)

    def merge(self):
        weight, bias = (self.linear.weight + self.delta).detach().clone(), self.linear.bias
        merged = nn.Linear(*reversed(weight.shape), bias=bias is not None, device="meta", dtype=weight.dtype)
        merged.weight = nn.Parameter(weight)
        if bias is not None:
            merged.bias = nn.Parameter(bias.detach().clone())
        return merged


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    replaced = 0
    for parent in list(model.modules()):
        if isinstance(parent, LoRALinear):
            continue
        for name, child in tuple(parent._modules.items()):
            if type(child) is nn.Linear and any(name == target for target in target_names):
                if any(child is m.linear for m in model.modules() if isinstance(m, LoRALinear)):
                    continue
                parent._modules[name] = LoRALinear(child, rank, alpha, dropout)
                replaced += 1
    model.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, LoRALinear):
            m.lora_A.requires_grad_()
            m.lora_B.requires_grad_()
    return replaced
