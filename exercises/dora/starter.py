from torch import Tensor, nn


class DoRALinear(nn.Module):
    """A frozen linear layer whose weight rows get a trained length and a
    low-rank change of direction.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """(..., in_features) -> (..., out_features)"""
        raise NotImplementedError

    def merge(self) -> nn.Linear:
        """A plain linear layer with the same output."""
        raise NotImplementedError
