"""Sampling: temperature, top-k, top-p."""

from collections.abc import Callable

import torch
from torch import Tensor


def filter_logits(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Logits (..., V) / temperature, with removed tokens at -inf."""
    raise NotImplementedError


def sample(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """One token for each row of logits (B, V): int64 of shape (B,)."""
    raise NotImplementedError


def generate(
    step: Callable[[Tensor], Tensor],
    tokens: Tensor,
    n_new: int,
    *,
    eos_id: int | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Append up to n_new sampled tokens to tokens (B, T), int64.

    ``step`` takes all tokens so far, (B, T), and returns logits
    (B, T, V).
    """
    raise NotImplementedError
