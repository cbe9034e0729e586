"""A GPT in a hundred lines."""

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """A pre-norm transformer block: causal attention, then a GELU MLP.

    Submodules: ``ln1``, ``ln2`` (LayerNorm), ``qkv`` (d to 3d: all queries,
    then keys, then values), ``proj`` (d to d), ``fc`` (d to 4d), ``out``
    (4d to d).
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        raise NotImplementedError


class MiniGPT(nn.Module):
    """A decoder-only language model with a tied head.

    Submodules: ``tok_emb``, ``pos_emb`` (Embedding), ``blocks``
    (ModuleList of Block), ``ln_f`` (LayerNorm), ``head`` (Linear, no bias).
    """

    def __init__(
        self,
        vocab_size: int,
        max_len: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        dropout: float = 0.0,
    ):
        super().__init__()
        raise NotImplementedError

    def forward(self, tokens: Tensor) -> Tensor:
        """Integers (B, T) -> logits (B, T, vocab_size)."""
        raise NotImplementedError

    def loss(self, tokens: Tensor, labels: Tensor | None = None) -> Tensor:
        """Mean next-token cross-entropy, a scalar.

        ``labels`` (B, T) are not shifted; -100 does not count. The default
        is ``tokens``.
        """
        raise NotImplementedError

    def generate(self, tokens: Tensor, n_new: int) -> Tensor:
        """Greedy: (B, T) -> (B, T + n_new)."""
        raise NotImplementedError


def train_step(
    model: MiniGPT,
    optimizer: torch.optim.Optimizer,
    tokens: Tensor,
) -> float:
    """One update on ``tokens`` (B, T); the loss before it."""
    raise NotImplementedError
