import torch


class LayerNorm(torch.nn.Module):
    """Normalises over the trailing dimensions, then scales by weight and shifts
    by bias.
    """

    weight: torch.nn.Parameter | None
    bias: torch.nn.Parameter | None

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        affine: bool = True,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., *normalized_shape) to the same shape and dtype."""
        raise NotImplementedError


class RMSNorm(torch.nn.Module):
    """Divides by the root mean square of the last dimension, then scales by
    weight.
    """

    weight: torch.nn.Parameter

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., dim) to the same shape and dtype."""
        raise NotImplementedError
