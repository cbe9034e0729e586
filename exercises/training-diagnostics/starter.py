"""Gradient norm, activation statistics, and the first layer that breaks."""

from torch import nn


def global_grad_norm(model: nn.Module) -> float:
    """The L2 norm of all gradients taken as one vector."""
    raise NotImplementedError


class ActivationMonitor:
    """A context manager that writes statistics of every leaf's output into
    ``stats``.
    """

    stats: dict[str, dict[str, float]]

    def __init__(self, model: nn.Module):
        raise NotImplementedError


def first_nonfinite(model: nn.Module, *inputs) -> str | None:
    """The name of the first module to finish with an inf or NaN in its
    output.
    """
    raise NotImplementedError
