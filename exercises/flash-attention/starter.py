"""FlashAttention in plain PyTorch: tiles and an online softmax."""

from torch import Tensor


def flash_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    block_q: int = 64,
    block_k: int = 64,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Exact attention that never holds the full score matrix.

    q (B, H, Tq, d), k and v (B, H, Tk, d). Scores are scale * q k^T, with
    scale = 1 / sqrt(d) by default. Returns the output (B, H, Tq, d) and the
    log-sum-exp of each query's scores (B, H, Tq).
    """
    raise NotImplementedError


def flash_backward(
    grad_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    causal: bool = False,
    block_q: int = 64,
    block_k: int = 64,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v, tile by tile, without autograd.

    grad_out and out (B, H, Tq, d), lse (B, H, Tq) from flash_forward.
    """
    raise NotImplementedError


def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    block_q: int = 64,
    block_k: int = 64,
    scale: float | None = None,
) -> Tensor:
    """The output of flash_forward, differentiable through flash_backward."""
    raise NotImplementedError
