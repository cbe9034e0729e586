import torch


class EarlyStopping:
    """Watches a metric, says when to stop, and keeps a copy of the best
    weights.
    """

    best: float | None

    def __init__(
        self,
        patience: int = 5,
        min_delta: float = 0.0,
        mode: str = "min",
    ) -> None:
        raise NotImplementedError

    def step(
        self,
        metric: float | torch.Tensor,
        model: torch.nn.Module,
    ) -> bool:
        """Take note of a validation; True if training should stop now."""
        raise NotImplementedError

    def restore(self, model: torch.nn.Module) -> None:
        """Write the best parameters and buffers into the model."""
        raise NotImplementedError
