"""Block quantization: MXFP8 and MXFP4 with a shared power-of-two scale."""

from torch import Tensor


def shared_exponents(x: Tensor, fmt: str = "e4m3") -> Tensor:
    """The shared exponent of each block of 32.

    x: (..., K). Returns int32 (..., K / 32).
    """
    raise NotImplementedError


def quantize(x: Tensor, fmt: str = "e4m3") -> tuple[Tensor, Tensor]:
    """Quantize x to a format.

    x: (..., K). Returns elements, float32 (..., K), and exponents.
    """
    raise NotImplementedError


def dequantize(elements: Tensor, exponents: Tensor) -> Tensor:
    """elements (..., K), exponents (..., K / 32) -> float32 (..., K)."""
    raise NotImplementedError


def mx_matmul(a: Tensor, b: Tensor, fmt: str = "e4m3") -> Tensor:
    """Multiply quantized matrices: (M, K), (N, K) -> float32 (M, N)."""
    raise NotImplementedError


def pack_fp4(elements: Tensor) -> Tensor:
    """e2m1 values (..., K) -> uint8 (..., K / 2)."""
    raise NotImplementedError


def unpack_fp4(packed: Tensor) -> Tensor:
    """uint8 (..., K / 2) -> e2m1 values, float32 (..., K)."""
    raise NotImplementedError
