import torch
from torch import nn


class LoRALinear(nn.Module):
    """Takes over the base's parameters instead of the module."""

    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        if not isinstance(rank, int) or rank <= 0:
            raise ValueError(f"rank must be positive, got {rank}")
        if dropout < 0.0 or dropout >= 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        out_features, in_features = base.weight.shape
        self.in_features, self.out_features = in_features, out_features
        self.rank, self.alpha = rank, float(alpha)
        self.weight, self.bias = base.weight, base.bias
        self.weight.requires_grad = False
        if self.bias is not None:
            self.bias.requires_grad = False
        options = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.lora_A = nn.Parameter(torch.randn(rank, in_features, **options) / rank)
        self.lora_B = nn.Parameter(torch.zeros(out_features, rank, **options))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        frozen = torch.matmul(x, self.weight.t())
        if self.bias is not None:
            frozen = frozen + self.bias
        low = torch.matmul(torch.matmul(self.drop(x), self.lora_A.t()), self.lora_B.t())
        return frozen + low * (self.alpha / self.rank)

    def merge(self):
        out = nn.Linear(self.in_features, self.out_features, bias=self.bias is not None)
        out = out.to(device=self.weight.device, dtype=self.weight.dtype)
        with torch.no_grad():
            delta = (self.alpha / self.rank) * torch.einsum("or,ri->oi", self.lora_B, self.lora_A)
            out.weight = nn.Parameter((self.weight + delta).clone())
            if self.bias is not None:
                out.bias = nn.Parameter(self.bias.detach().clone())
        return out


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    count = 0

    def walk(module):
        nonlocal count
        for name, child in list(module.named_children()):
            if isinstance(child, LoRALinear):
                continue
            if type(child) is nn.Linear and name in target_names:
                wrapped = LoRALinear(child, rank, alpha, dropout)
                wrapped.train(child.training)
                setattr(module, name, wrapped)
                count += 1
            else:
                walk(child)

    walk(model)
    for p in model.parameters():
        p.requires_grad = False
    for m in model.modules():
        if isinstance(m, LoRALinear):
            m.lora_A.requires_grad = m.lora_B.requires_grad = True
    return count
