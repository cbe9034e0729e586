"""Muon: orthogonalized momentum for weight matrices."""

from collections.abc import Collection

import torch
from torch import Tensor, nn


def newton_schulz(g: Tensor, steps: int = 5, eps: float = 1e-7) -> Tensor:
    """(m, n) to (m, n): singular values near 1, singular vectors kept."""
    raise NotImplementedError


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalized; the buffer is state[p]["momentum_buffer"]."""

    def __init__(
        self,
        params,
        lr: float = 0.02,
        momentum: float = 0.95,
        nesterov: bool = True,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
    ):
        raise NotImplementedError

    def step(self, closure=None):
        """One step; returns the loss of the closure, if there is one."""
        raise NotImplementedError


def split_parameters(
    model: nn.Module,
    exclude: Collection[str] = (),
) -> tuple[list, list]:
    """The parameters for Muon, and those for AdamW."""
    raise NotImplementedError
