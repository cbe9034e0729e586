from torch import Tensor, nn


def magnitude_masks(model: nn.Module, sparsity: float) -> dict[str, Tensor]:
    """Bool masks by parameter name, True = keep, for a share `sparsity` of
    removed weights over all layers.
    """
    raise NotImplementedError


def apply_masks(model: nn.Module, masks: dict[str, Tensor]) -> None:
    """Set removed weights to 0, in place."""
    raise NotImplementedError


def prune_neurons(
    fc1: nn.Linear,
    fc2: nn.Linear,
    keep: int,
) -> tuple[nn.Linear, nn.Linear]:
    """Two smaller layers with the `keep` hidden neurons of the highest
    score.
    """
    raise NotImplementedError
