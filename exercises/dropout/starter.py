import torch


def dropout(
    x: torch.Tensor,
    p: float = 0.5,
    training: bool = True,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Zero each element of x with probability p and scale the survivors; x
    itself if not training.
    """
    raise NotImplementedError


class Dropout(torch.nn.Module):
    """Applies `dropout` in training mode and nothing in evaluation mode."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop elements of x if the module is in training mode."""
        raise NotImplementedError
