# fails: 7
# message: After model.eval() two calls still differ
import torch


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p is a probability, got {p}")


def dropout(
    x: torch.Tensor, p: float = 0.5, training: bool = True, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Zero each element of x with probability p and scale the survivors; x itself if not training."""
    _check(p)
    if not training or p == 0.0:
        return x
    if p == 1.0:
        return x * 0.0
    uniform = torch.rand(x.shape, generator=generator, device=x.device)
    mask = (uniform >= p).to(x.dtype)
    return x * mask / (1.0 - p)


class Dropout(torch.nn.Module):
    """Applies `dropout` in training mode and nothing in evaluation mode."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        _check(p)
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop elements of x if the module is in training mode."""
        return dropout(x, self.p)
