"""Dynamic loss scaling for float16 training."""

from torch import Tensor
from torch.optim import Optimizer


class DynamicLossScaler:
    """Scales the loss, unscales gradients, skips steps that overflowed, and
    adapts the scale.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ):
        raise NotImplementedError

    @property
    def scale_value(self) -> float:
        """The current scale."""
        raise NotImplementedError

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the scale; half-precision losses are multiplied in
        float32.
        """
        raise NotImplementedError

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in
        place.
        """
        raise NotImplementedError

    def step(self, optimizer: Optimizer) -> bool:
        """Step if every gradient is finite. True: stepped, False: skipped."""
        raise NotImplementedError

    def update(self) -> None:
        """End the iteration: back off after an overflow, grow after enough
        clean iterations.
        """
        raise NotImplementedError

    def state_dict(self) -> dict:
        """A snapshot of plain numbers."""
        raise NotImplementedError

    def load_state_dict(self, state: dict) -> None:
        """Continue from a snapshot."""
        raise NotImplementedError
