import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float = 0.0):
        super().__init__()
        if rank < 1:
            raise ValueError(f"rank {rank}")
        if dropout < 0 or dropout >= 1:
            raise ValueError(f"dropout {dropout}")
        base.requires_grad_(False)
        self.add_module("frozen", base)
        like = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.register_parameter("lora_A", nn.Parameter(torch.empty(rank, base.in_features, **like)))
        self.register_parameter("lora_B", nn.Parameter(torch.zeros(base.out_features, rank, **like)))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.register_buffer("gain", torch.tensor(alpha / rank, dtype=torch.float64), persistent=False)
        self.gain_value = alpha / rank
        self.drop = nn.Dropout(dropout)
        self.training = base.training
        self.drop.training = base.training

    def forward(self, x: Tensor) -> Tensor:
        down = F.linear(self.drop(x), self.lora_A)
        return self.frozen(x).add(F.linear(down, self.lora_B), alpha=self.gain_value)

    def merge(self) -> nn.Linear:
        old = self.frozen
        new = nn.utils.skip_init(
            nn.Linear,
            old.in_features,
            old.out_features,
            bias=old.bias is not None,
            device=old.weight.device,
            dtype=old.weight.dtype,
        )
        new.weight = nn.Parameter(
            torch.addmm(old.weight, self.lora_B, self.lora_A, alpha=self.gain_value).detach().clone()
        )
        if old.bias is not None:
            new.bias = nn.Parameter(old.bias.detach().clone())
        return new


def inject_lora(model, target_names, rank, alpha, dropout=0.0) -> int:
    count = 0
    adapters = {path for path, m in model.named_modules() if isinstance(m, LoRALinear)}
    for path, module in list(model.named_modules()):
        owner, _, leaf = path.rpartition(".")
        if type(module) is nn.Linear and leaf in target_names and owner not in adapters:
            model.get_submodule(owner)._modules[leaf] = LoRALinear(module, rank, alpha, dropout)
            count += 1
    model.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, LoRALinear):
            for p in (m.lora_A, m.lora_B):
                p.requires_grad = True
    return count
