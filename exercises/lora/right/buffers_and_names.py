import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LoRALinear(nn.Module):
    """Keeps the frozen tensors as buffers that share the base's memory."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float = 0.0):
        if rank < 1 or not (0 <= dropout < 1):
            raise ValueError("rank >= 1 and 0 <= dropout < 1 are needed")
        super().__init__()
        self.register_buffer("frozen_weight", base.weight.detach())
        self.register_buffer("frozen_bias", None if base.bias is None else base.bias.detach())
        self.register_buffer("scale", torch.tensor(alpha / rank, dtype=torch.float64), persistent=False)
        self.scale_value = alpha / rank
        self.p = dropout
        self.lora_A = nn.Parameter(torch.empty_like(base.weight[:1].detach()).repeat(rank, 1))
        self.lora_B = nn.Parameter(torch.zeros_like(base.weight[:, :1].detach()).repeat(1, rank))
        with torch.no_grad():
            self.lora_A.normal_(std=0.02)
        self.training = base.training

    def forward(self, x: Tensor) -> Tensor:
        dropped = F.dropout(x, p=self.p) if self.training and self.p > 0 else x
        return torch.add(
            F.linear(x, self.frozen_weight, self.frozen_bias),
            (dropped @ self.lora_A.mT) @ self.lora_B.mT,
            alpha=self.scale_value,
        )

    def merge(self) -> nn.Linear:
        weight = torch.addmm(
            self.frozen_weight, self.lora_B.detach(), self.lora_A.detach(), alpha=self.scale_value
        )
        layer = nn.Linear(
            weight.shape[1], weight.shape[0], self.frozen_bias is not None, weight.device, weight.dtype
        )
        state = {"weight": weight}
        if self.frozen_bias is not None:
            state["bias"] = self.frozen_bias
        layer.load_state_dict(state)
        return layer


def inject_lora(model, target_names, rank, alpha, dropout=0.0):
    wanted = set(target_names)
    inside = {id(m) for a in model.modules() if isinstance(a, LoRALinear) for m in a.modules()}
    paths = [
        path
        for path, module in model.named_modules()
        if path
        and module.__class__ is nn.Linear
        and path.split(".")[-1] in wanted
        and id(module) not in inside
    ]
    for path in paths:
        parent_path, _, name = path.rpartition(".")
        parent = model.get_submodule(parent_path)
        new = LoRALinear(getattr(parent, name), rank=rank, alpha=alpha, dropout=dropout)
        if isinstance(parent, nn.ModuleDict):
            parent[name] = new
        elif isinstance(parent, nn.ModuleList | nn.Sequential) and name.isdigit():
            parent[int(name)] = new
        else:
            parent.add_module(name, new)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.rsplit(".", 1)[-1] in ("lora_A", "lora_B"))
    return len(paths)
