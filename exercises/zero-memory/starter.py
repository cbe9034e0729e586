"""Memory of model states on one GPU under ZeRO sharding."""


def model_state_bytes(
    params: int,
    world_size: int,
    stage: int,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> float:
    """Bytes of parameters, gradients and optimizer state on one of
    ``world_size`` ranks.
    """
    raise NotImplementedError


def lowest_stage_that_fits(
    params: int,
    world_size: int,
    gpu_bytes: float,
    activation_bytes: float = 0,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> int | None:
    """The smallest stage at which model states and activations fit on a GPU, or
    None.
    """
    raise NotImplementedError


def max_params(
    gpu_bytes: float,
    world_size: int,
    stage: int,
    activation_bytes: float = 0,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> int:
    """The largest number of parameters that fits on a GPU at ``stage``."""
    raise NotImplementedError
