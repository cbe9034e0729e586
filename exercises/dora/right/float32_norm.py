import torch
import torch.nn as nn
import torch.nn.functional as F


class _FixedNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, magnitude):
        wide = v if v.dtype == torch.float64 else v.float()
        norm = torch.sqrt((wide * wide).sum(dim=1, keepdim=True))
        unit = torch.nan_to_num(wide / norm, nan=0.0)
        inverse = torch.where(norm > 0, 1 / norm, torch.zeros_like(norm))
        ctx.save_for_backward(unit, inverse, magnitude)
        return (unit * magnitude[:, None]).to(v.dtype)

    @staticmethod
    def backward(ctx, grad):
        unit, inverse, magnitude = ctx.saved_tensors
        return (grad * magnitude[:, None] * inverse).to(grad.dtype), (grad * unit).sum(1).to(magnitude.dtype)


class DoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        if rank <= 0:
            raise ValueError("rank")
        self.base = base
        self.base.weight.requires_grad_(False)
        if self.base.bias is not None:
            self.base.bias.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.rand_like(base.weight[:1].expand(rank, -1)) - 0.5)
        self.lora_B = nn.Parameter(torch.zeros_like(base.weight[:, :1].expand(-1, rank)))
        self.magnitude = nn.Parameter(base.weight.detach().double().norm(p=2, dim=1).to(base.weight.dtype))
        self.ratio = alpha / rank

    def _w(self):
        return _FixedNorm.apply(
            self.base.weight + self.ratio * torch.mm(self.lora_B, self.lora_A), self.magnitude
        )

    def forward(self, x):
        return F.linear(x, self._w().to(x.dtype), self.base.bias)

    def merge(self):
        merged = nn.utils.skip_init(
            nn.Linear,
            self.base.in_features,
            self.base.out_features,
            bias=self.base.bias is not None,
            dtype=self.base.weight.dtype,
            device=self.base.weight.device,
        )
        merged.weight.data.copy_(self._w().detach())
        if self.base.bias is not None:
            merged.bias.data.copy_(self.base.bias)
        return merged
