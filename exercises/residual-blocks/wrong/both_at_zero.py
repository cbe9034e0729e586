# fails: 3, 4
# message: neither weight gets a gradient
import torch
from torch import nn


class ResidualBlock(nn.Module):
    """shortcut(x) + fc2(relu(fc1(norm(x))))."""

    norm: nn.LayerNorm
    fc1: nn.Linear
    fc2: nn.Linear
    shortcut: nn.Module

    def __init__(self, in_dim: int, hidden: int, out_dim: int | None = None) -> None:
        super().__init__()
        out_dim = in_dim if out_dim is None else out_dim
        if min(in_dim, hidden, out_dim) < 1:
            raise ValueError("in_dim, hidden and out_dim must be at least 1")
        self.norm = nn.LayerNorm(in_dim)
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, out_dim)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)
        nn.init.zeros_(self.fc1.weight)
        nn.init.zeros_(self.fc1.bias)
        self.shortcut = nn.Identity() if out_dim == in_dim else nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in_dim) to (..., out_dim)."""
        return self.shortcut(x) + self.fc2(torch.relu(self.fc1(self.norm(x))))


class ResidualStack(nn.Module):
    """Residual blocks of one width, one after the other."""

    blocks: nn.ModuleList

    def __init__(self, dim: int, hidden: int, depth: int) -> None:
        super().__init__()
        if min(dim, hidden, depth) < 1:
            raise ValueError("dim, hidden and depth must be at least 1")
        self.blocks = nn.ModuleList([ResidualBlock(dim, hidden) for _ in range(depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., dim) to the same shape."""
        for block in self.blocks:
            x = block(x)
        return x
