"""LoRA: low-rank adapters for linear layers."""

from collections.abc import Collection

from torch import Tensor, nn


class LoRALinear(nn.Module):
    """A frozen linear layer plus a trainable low-rank update.

    Trainable parameters: ``lora_A`` of shape (rank, in_features), ``lora_B`` of
    shape (out_features, rank).
    """

    def __init__(
        self,
        base: nn.Linear,
        rank: int,
        alpha: float,
        dropout: float = 0.0,
    ):
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """base(x) + (alpha / rank) * dropout(x) @ lora_A.T @ lora_B.T, for x of
        shape (..., in_features).
        """
        raise NotImplementedError

    def merge(self) -> nn.Linear:
        """A new plain linear layer with the output that this adapter has in
        eval mode.
        """
        raise NotImplementedError


def inject_lora(
    model: nn.Module,
    target_names: Collection[str],
    rank: int,
    alpha: float,
    dropout: float = 0.0,
) -> int:
    """Wrap every linear layer named in ``target_names``, freeze the rest,
    return how many were wrapped.
    """
    raise NotImplementedError
