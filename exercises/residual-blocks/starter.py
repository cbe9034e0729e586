import torch


class ResidualBlock(torch.nn.Module):
    """shortcut(x) + fc2(relu(fc1(norm(x))))."""

    norm: torch.nn.LayerNorm
    fc1: torch.nn.Linear
    fc2: torch.nn.Linear
    shortcut: torch.nn.Module

    def __init__(
        self,
        in_dim: int,
        hidden: int,
        out_dim: int | None = None,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in_dim) to (..., out_dim)."""
        raise NotImplementedError


class ResidualStack(torch.nn.Module):
    """Residual blocks of one width, one after the other."""

    blocks: torch.nn.ModuleList

    def __init__(self, dim: int, hidden: int, depth: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., dim) to the same shape."""
        raise NotImplementedError
