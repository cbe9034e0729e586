# fails: 8
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class DoRALinear(nn.Module):
    """A frozen linear layer whose weight rows get a trained length and a low-rank change of direction."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be at least 1")
        self.base = base.requires_grad_(False)
        self.scaling = alpha / rank
        weight = base.weight
        self.lora_A = nn.Parameter(
            torch.empty(rank, weight.shape[1], dtype=weight.dtype, device=weight.device)
        )
        self.lora_B = nn.Parameter(
            torch.zeros(weight.shape[0], rank, dtype=weight.dtype, device=weight.device)
        )
        magnitude = torch.zeros(weight.shape[0], dtype=weight.dtype)
        magnitude.copy_(weight.detach().norm(dim=1))
        self.magnitude = nn.Parameter(magnitude)
        nn.init.normal_(self.lora_A, std=rank**-0.5)

    def _weight(self) -> Tensor:
        v = self.base.weight + self.scaling * self.lora_B @ self.lora_A
        norm = v.detach().norm(dim=1)
        norm = torch.where(norm > 0, norm, torch.ones_like(norm))
        return (self.magnitude / norm)[:, None] * v

    def forward(self, x: Tensor) -> Tensor:
        """(..., in_features) -> (..., out_features)"""
        return F.linear(x, self._weight(), self.base.bias)

    @torch.no_grad()
    def merge(self) -> nn.Linear:
        """A plain linear layer with the same output."""
        weight, bias = self._weight(), self.base.bias
        merged = nn.Linear(
            weight.shape[1], weight.shape[0], bias is not None, device=weight.device, dtype=weight.dtype
        )
        merged.weight.copy_(weight)
        if bias is not None:
            merged.bias.copy_(bias)
        return merged
