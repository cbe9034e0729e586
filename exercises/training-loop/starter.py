"""A training loop with accumulation, clipping, a scheduler and validation."""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn
from torch.optim import Optimizer


def evaluate(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    loss_fn,
) -> dict[str, float]:
    """The mean "loss" and the "accuracy" over all samples."""
    raise NotImplementedError


def fit(
    model: nn.Module,
    optimizer: Optimizer,
    train_batches: Sequence[tuple[Tensor, Tensor]],
    val_batches: Iterable[tuple[Tensor, Tensor]],
    loss_fn,
    *,
    epochs: int,
    accumulate: int = 1,
    max_norm: float | None = None,
    scheduler=None,
) -> list[dict[str, float]]:
    """Train, and return "epoch", "train_loss", "val_loss" and "val_accuracy" of
    every epoch.
    """
    raise NotImplementedError
