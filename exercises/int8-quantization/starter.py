from collections.abc import Iterable

from torch import Tensor


def quantize_per_channel(
    weight: Tensor,
    axis: int = 0,
) -> tuple[Tensor, Tensor]:
    """Symmetric int8 codes of the weight's shape, and one float32 scale per
    channel along `axis`.
    """
    raise NotImplementedError


def calibrate_affine(batches: Iterable[Tensor]) -> tuple[float, int]:
    """Scale and zero point of an unsigned 8-bit grid that covers every value of
    every batch.
    """
    raise NotImplementedError


def fake_quantize(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """Round `x` to the grid and clamp it, with a straight-through gradient."""
    raise NotImplementedError
