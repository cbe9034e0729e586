# fails: 9
# message: not wrapped
import torch
import torch.nn.functional as F
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        if rank < 1 or not 0 <= dropout < 1:
            raise ValueError("rank >= 1 and 0 <= dropout < 1, please")
        self.base = base.requires_grad_(False)
        self.s = alpha / rank
        self.drop = nn.Dropout(dropout)
        w = base.weight
        self.lora_A = nn.Parameter(
            torch.randn_like(w[:1].expand(rank, -1), requires_grad=False) / w.shape[1] ** 0.5
        )
        self.lora_B = nn.Parameter(w.new_zeros(w.shape[0], rank))
        self.train(base.training)

    def forward(self, x):
        return self.base(x) + self.s * F.linear(F.linear(self.drop(x), self.lora_A), self.lora_B)

    @torch.no_grad()
    def merge(self):
        b = self.base
        m = nn.Linear(b.in_features, b.out_features, b.bias is not None, b.weight.device, b.weight.dtype)
        m.weight.copy_(b.weight + self.s * self.lora_B @ self.lora_A)
        if b.bias is not None:
            m.bias.copy_(b.bias)
        return m


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    todo = []

    def walk(p):
        for n, c in p.named_children():
            if n in target_names:
                if type(c) is nn.Linear:
                    todo.append((p, n, c))
            elif not isinstance(c, LoRALinear):
                walk(c)

    walk(model)
    for p, n, c in todo:
        setattr(p, n, LoRALinear(c, rank, alpha, dropout))
    model.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, LoRALinear):
            m.lora_A.requires_grad_()
            m.lora_B.requires_grad_()
    return len(todo)
