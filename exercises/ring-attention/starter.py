"""Ring attention: exact attention from blocks of keys and values."""

from collections.abc import Iterable

from torch import Tensor


def block_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    q_start: int = 0,
    k_start: int = 0,
) -> tuple[Tensor, Tensor]:
    """Attention over one block of keys, and the log of the sum of exponentials
    of its scaled scores.
    """
    raise NotImplementedError


def merge(
    out_a: Tensor,
    lse_a: Tensor,
    out_b: Tensor,
    lse_b: Tensor,
) -> tuple[Tensor, Tensor]:
    """The result over the union of two disjoint sets of keys."""
    raise NotImplementedError


def ring_attention(
    q: Tensor,
    kv_blocks: Iterable[tuple[int, Tensor, Tensor]],
    *,
    causal: bool = False,
    q_start: int = 0,
) -> Tensor:
    """Attention over all keys, from blocks (k_start, k, v) that arrive in any
    order.
    """
    raise NotImplementedError
