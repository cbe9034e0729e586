import copy

import torch
from torch import nn


class BadRank(ValueError):
    pass


class DoRALinear(nn.Module):
    """Keeps the frozen tensors as buffers, not as a module."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        if not rank >= 1:
            raise BadRank(rank)
        self.register_buffer("frozen", base.weight.detach())
        self.register_buffer("offset", None if base.bias is None else base.bias.detach())
        out_features, in_features = self.frozen.shape
        options = {"dtype": self.frozen.dtype, "device": self.frozen.device}
        self.factor = float(alpha) / rank
        self.lora_A = nn.Parameter(torch.randn(rank, in_features, **options) * 0.02)
        self.lora_B = nn.Parameter(torch.zeros(out_features, rank, **options))
        self.magnitude = nn.Parameter(self.frozen.pow(2).sum(1).sqrt())

    def adapted(self):
        v = torch.addmm(self.frozen, self.lora_B, self.lora_A, alpha=self.factor)
        length = v.detach().square().sum(1, keepdim=True).sqrt().clamp(min=1e-20)
        return self.magnitude.unsqueeze(-1) * (v / length)

    def forward(self, x):
        out = torch.einsum("...i,oi->...o", x, self.adapted())
        if self.offset is not None:
            out = out + self.offset
        return out

    def merge(self):
        with torch.no_grad():
            weight = self.adapted()
        layer = nn.Linear(weight.size(1), weight.size(0), bias=self.offset is not None).to(weight)
        state = {"weight": weight}
        if self.offset is not None:
            state["bias"] = copy.deepcopy(self.offset)
        layer.load_state_dict(state)
        return layer
