from math import sqrt

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float = 0.0):
        super().__init__()
        if rank < 1:
            raise ValueError(f"{rank=} is below 1")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"{dropout=} is outside [0, 1)")
        base.weight.requires_grad_(False)
        if base.bias is not None:
            base.bias.requires_grad_(False)
        self.add_module("wrapped", base)
        self.scale = alpha / rank
        self.rate = dropout
        bound = 1 / sqrt(base.in_features)
        self.register_parameter("lora_A", nn.Parameter(base.weight.new_empty(rank, base.in_features)))
        self.register_parameter("lora_B", nn.Parameter(base.weight.new_zeros(base.out_features, rank)))
        nn.init.uniform_(self.lora_A, -bound, bound)

    def extra_repr(self):
        return f"scale={self.scale}"

    def forward(self, x):
        low = x
        if self.training and self.rate > 0:
            keep = torch.rand_like(x) >= self.rate
            low = torch.where(keep, x / (1 - self.rate), torch.zeros_like(x))
        return self.wrapped(x) + ((self.scale * low) @ self.lora_A.transpose(0, 1)) @ self.lora_B.transpose(
            0, 1
        )

    def merge(self):
        base = self.wrapped
        with torch.no_grad():
            new = nn.Linear(base.in_features, base.out_features, bias=base.bias is not None)
            new.to(base.weight)
            new.weight.data = base.weight.data + self.scale * self.lora_B.data @ self.lora_A.data
            if base.bias is not None:
                new.bias.data = base.bias.data.clone()
        new.train(self.training)
        return new


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    def visit(module):
        total = 0
        for name, child in module.named_children():
            if isinstance(child, LoRALinear):
                continue
            if type(child) is nn.Linear and name in target_names:
                module._modules[name] = LoRALinear(child, rank, alpha, dropout).train(child.training)
                total += 1
            else:
                total += visit(child)
        return total

    total = visit(model)
    factors = set()
    for module in model.modules():
        if isinstance(module, LoRALinear):
            factors |= {module.lora_A, module.lora_B}
    for parameter in model.parameters():
        parameter.requires_grad_(parameter in factors)
    return total
