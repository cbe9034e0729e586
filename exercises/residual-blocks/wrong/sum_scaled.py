# fails: 1
# message: the sum is not scaled
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


class ResidualBlock(nn.Module):
    """Pre-norm residual MLP block."""

    norm: nn.LayerNorm
    fc1: nn.Linear
    fc2: nn.Linear
    shortcut: nn.Module

    def __init__(self, in_dim: int, hidden: int, out_dim: Optional[int] = None) -> None:
        super().__init__()
        if out_dim is None:
            out_dim = in_dim
        if in_dim < 1:
            raise ValueError(f"in_dim must be >= 1, got {in_dim}")
        if hidden < 1:
            raise ValueError(f"hidden must be >= 1, got {hidden}")
        if out_dim < 1:
            raise ValueError(f"out_dim must be >= 1, got {out_dim}")
        self.norm = nn.LayerNorm(in_dim)
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, out_dim)
        if in_dim == out_dim:
            self.shortcut = nn.Identity()
        else:
            self.shortcut = nn.Linear(in_dim, out_dim, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.fc2.weight.zero_()
            self.fc2.bias.zero_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        residual = self.shortcut(x)
        out = self.norm(x)
        out = self.fc1(out)
        out = F.relu(out, inplace=True)
        out = self.fc2(out)
        return (residual + out) / 2**0.5


class ResidualStack(nn.Module):
    """Stack of ``depth`` residual blocks."""

    blocks: nn.ModuleList

    def __init__(self, dim: int, hidden: int, depth: int) -> None:
        super().__init__()
        if dim < 1 or hidden < 1 or depth < 1:
            raise ValueError("dim, hidden and depth must be at least 1")
        self.blocks = nn.ModuleList([ResidualBlock(dim, hidden) for _ in range(depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x
