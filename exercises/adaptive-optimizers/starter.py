import torch


def adagrad_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    lr: float = 1e-2,
    eps: float = 1e-10,
) -> tuple[torch.Tensor, dict]:
    """One step of Adagrad; returns the new parameter and the new state."""
    raise NotImplementedError


def rmsprop_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    lr: float = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
) -> tuple[torch.Tensor, dict]:
    """One step of RMSprop; returns the new parameter and the new state."""
    raise NotImplementedError


def adam_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> tuple[torch.Tensor, dict]:
    """One step of Adam; returns the new parameter and the new state."""
    raise NotImplementedError
