"""Activation checkpointing: recompute in backward what was not kept in
forward.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch


def checkpoint(fn: Callable[..., torch.Tensor], *args: Any) -> torch.Tensor:
    """``fn(*args)`` without keeping its activations; backward runs it again."""
    raise NotImplementedError


def checkpoint_sequential(
    blocks: Sequence[Callable[[torch.Tensor], torch.Tensor]],
    segments: int,
    x: torch.Tensor,
) -> torch.Tensor:
    """The chain of blocks, in ``segments`` groups of nearly equal size that are
    each checkpointed.
    """
    raise NotImplementedError
