"""Mixture of experts: top-k routing, capacity and load balancing."""

from collections.abc import Callable, Sequence

from torch import Tensor


def route(
    logits: Tensor,
    k: int,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Choose k experts for each token.

    logits: (T, E); bias: (E,), steers the selection only.
    Returns weights (T, k), which sum to 1, and chosen (T, k), int64.
    """
    raise NotImplementedError


def keep_mask(chosen: Tensor, num_experts: int, capacity: int) -> Tensor:
    """Which assignments fit into the experts' buffers.

    chosen: (T, k). Returns bool (T, k).
    """
    raise NotImplementedError


def moe_forward(
    x: Tensor,
    router: Tensor,
    experts: Sequence[Callable[[Tensor], Tensor]],
    k: int,
    capacity_factor: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """A mixture-of-experts layer.

    x: (..., d); router: (E, d); experts: E modules, (n, d) -> (n, d).
    Returns a tensor of the shape and dtype of x.
    """
    raise NotImplementedError


def balance_loss(logits: Tensor, chosen: Tensor) -> Tensor:
    """The Switch load-balancing loss, a scalar.

    logits: (T, E); chosen: (T, k).
    """
    raise NotImplementedError


def z_loss(logits: Tensor) -> Tensor:
    """The router z-loss, a scalar. logits: (T, E)."""
    raise NotImplementedError


def update_bias(bias: Tensor, chosen: Tensor, rate: float) -> Tensor:
    """The next bias, a new tensor.

    bias: (E,); chosen: (T, k).
    """
    raise NotImplementedError
