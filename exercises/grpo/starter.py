"""GRPO: group-relative advantages and the clipped token loss."""

from torch import Tensor


def group_advantages(
    rewards: Tensor,
    group_size: int,
    scale: bool = True,
    eps: float = 1e-4,
) -> Tensor:
    """Rewards (B,) to advantages (B,); neighbors share a prompt."""
    raise NotImplementedError


def token_logprobs(logits: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities (B, T-1) of the tokens that come next.

    ``logits`` is (B, T, V) and ``tokens`` is (B, T), int64.
    """
    raise NotImplementedError


def completion_mask(
    prompt_lengths: Tensor,
    lengths: Tensor,
    T: int,
) -> Tensor:
    """Which of the T-1 log-probabilities belong to completion tokens.

    ``prompt_lengths`` and ``lengths`` (prompt and completion) are int64
    of shape (B,). Returns bool (B, T-1).
    """
    raise NotImplementedError


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """The k3 estimate of the KL to the reference, elementwise."""
    raise NotImplementedError


def grpo_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_eps: float = 0.2,
    ref_logprobs: Tensor | None = None,
    beta: float = 0.0,
    aggregation: str = "sequence",
    max_length: int | None = None,
) -> Tensor:
    """The GRPO loss, a scalar to minimize.

    Log-probabilities and ``mask`` are (B, S), ``advantages`` is (B,).
    ``aggregation`` is "sequence", "token" or "constant".
    """
    raise NotImplementedError
