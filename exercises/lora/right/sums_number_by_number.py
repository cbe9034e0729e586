"""The merged weight is summed number by number."""

import math
from collections.abc import Collection

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LoRALinear(nn.Module):
    """A frozen linear layer plus a trainable low-rank update."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float = 0.0):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be at least 1")
        if not 0 <= dropout < 1:
            raise ValueError("dropout must lie in [0, 1)")
        self.base = base
        self.scaling = alpha / rank
        self.dropout = dropout
        base.requires_grad_(False)
        self.lora_A = nn.Parameter(base.weight.new_empty(rank, base.in_features))
        self.lora_B = nn.Parameter(base.weight.new_zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.train(base.training)

    def forward(self, x: Tensor) -> Tensor:
        """The base's output plus the scaled low-rank update."""
        low = F.dropout(x, self.dropout, self.training)
        return self.base(x) + self.scaling * F.linear(F.linear(low, self.lora_A), self.lora_B)

    @torch.no_grad()
    def merge(self) -> nn.Linear:
        """A new plain linear layer with the output that this adapter has in eval mode."""
        weight, bias = self.base.weight, self.base.bias
        merged = nn.Linear(
            self.base.in_features,
            self.base.out_features,
            bias=bias is not None,
            device=weight.device,
            dtype=weight.dtype,
        )
        rows, columns = self.lora_B.tolist(), self.lora_A.T.tolist()
        update = [
            [sum(b * a for b, a in zip(row, column, strict=True)) for column in columns] for row in rows
        ]
        merged.weight.copy_(
            weight + self.scaling * torch.tensor(update, device=weight.device, dtype=weight.dtype)
        )
        if bias is not None:
            merged.bias.copy_(bias)
        return merged


def inject_lora(
    model: nn.Module, target_names: Collection[str], rank: int, alpha: float, dropout: float = 0.0
) -> int:
    """Wrap every linear layer named in ``target_names``, freeze the rest, return how many were wrapped."""
    targets = [
        (parent, name, child)
        for parent in model.modules()
        if not isinstance(parent, LoRALinear)
        for name, child in parent.named_children()
        if name in target_names and type(child) is nn.Linear
    ]
    for parent, name, child in targets:
        setattr(parent, name, LoRALinear(child, rank, alpha, dropout))
    model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, LoRALinear):
            module.lora_A.requires_grad_(True)
            module.lora_B.requires_grad_(True)
    return len(targets)
