"""SGD with momentum."""

from collections.abc import Callable, Iterable

import torch


class SGD(torch.optim.Optimizer):
    """Stochastic gradient descent with classical or Nesterov momentum."""

    def __init__(
        self,
        params: Iterable,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
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
