"""AdamW from scratch."""

from collections.abc import Callable, Iterable

import torch


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        raise NotImplementedError

    def step(
        self,
        closure: Callable[[], torch.Tensor] | None = None,
    ) -> torch.Tensor | None:
        """Update every parameter that has a gradient; return the closure's
        value, if there is a closure.
        """
        raise NotImplementedError
