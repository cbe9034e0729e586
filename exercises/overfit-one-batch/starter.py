"""Can this model memorise one batch?"""

from collections.abc import Callable

from torch import Tensor, nn


def overfit_one_batch(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    loss_fn: Callable[[Tensor, Tensor], Tensor],
    *,
    steps: int = 200,
    lr: float = 1e-2,
    threshold: float = 0.05,
) -> dict:
    """Train a copy of ``model`` on the batch and report "passed", "reason",
    "losses" and "idle".
    """
    raise NotImplementedError
