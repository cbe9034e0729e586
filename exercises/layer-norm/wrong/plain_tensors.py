# fails: 3
# message: does not see gamma and beta
import torch


def _widen(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


class LayerNorm(torch.nn.Module):
    """Normalises over the trailing dimensions, then scales by weight and shifts by bias."""

    weight: torch.nn.Parameter | None
    bias: torch.nn.Parameter | None

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5, affine: bool = True
    ) -> None:
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.dims = tuple(range(-len(self.shape), 0))
        self.eps = eps
        if affine:
            self.weight = torch.ones(self.shape)
            self.bias = torch.zeros(self.shape)
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., *normalized_shape) to the same shape and dtype."""
        if tuple(x.shape[-len(self.shape) :]) != self.shape:
            raise ValueError(f"expected (..., {self.shape}), got {tuple(x.shape)}")
        wide = _widen(x)
        centred = wide - wide.mean(self.dims, keepdim=True)
        variance = centred.square().mean(self.dims, keepdim=True)
        out = centred * torch.rsqrt(variance + self.eps)
        if self.weight is not None:
            out = out * self.weight + self.bias
        return out.to(x.dtype)


class RMSNorm(torch.nn.Module):
    """Divides by the root mean square of the last dimension, then scales by weight."""

    weight: torch.nn.Parameter

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., dim) to the same shape and dtype."""
        if x.shape[-1] != len(self.weight):
            raise ValueError(f"expected (..., {len(self.weight)}), got {tuple(x.shape)}")
        wide = _widen(x)
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * scale * self.weight).to(x.dtype)
