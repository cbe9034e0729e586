"""Evaluating language models: perplexity, choices, pass@k, error bars."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def strided_nll(
    model: nn.Module,
    tokens: Tensor,
    window: int,
    stride: int,
) -> tuple[float, int]:
    """Negative log-likelihood in nats of tokens (n,), and scored tokens."""
    raise NotImplementedError


def perplexity(nll: float, count: int) -> float:
    """exp of the mean negative log-likelihood of a token."""
    raise NotImplementedError


def bits_per_byte(nll: float, num_bytes: int) -> float:
    """The same in bits, for each byte of the text."""
    raise NotImplementedError


def choice_scores(
    model: nn.Module,
    context: Tensor,
    choices: Sequence[Tensor],
    lengths: Sequence[int] | None = None,
) -> Tensor:
    """Log-probability of each choice (m_i,) after context (n,)."""
    raise NotImplementedError


def choose(
    model: nn.Module,
    context: Tensor,
    choices: Sequence[Tensor],
    lengths: Sequence[int] | None = None,
) -> int:
    """Index of the best choice."""
    raise NotImplementedError


def pass_at_k(counts: Sequence[tuple[int, int]], k: int) -> float:
    """Mean over problems with n samples each, c of them correct."""
    raise NotImplementedError


def paired_difference(a: Tensor, b: Tensor) -> tuple[float, float]:
    """Mean of a - b, both (n,), and its standard error."""
    raise NotImplementedError


def paired_bootstrap(
    a: Tensor,
    b: Tensor,
    samples: int,
    generator: torch.Generator,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Interval (low, high) for the mean of a - b, both (n,)."""
    raise NotImplementedError
