import torch


def fan_in_out(weight: torch.Tensor) -> tuple[int, int]:
    """How many inputs each output sums over, and how many outputs each input
    reaches.
    """
    raise NotImplementedError


def xavier_uniform_(
    weight: torch.Tensor,
    gain: float = 1.0,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill weight in place from the uniform distribution of Glorot and Bengio;
    returns weight.
    """
    raise NotImplementedError


def kaiming_normal_(
    weight: torch.Tensor,
    negative_slope: float = 0.0,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill weight in place from the normal distribution of He et al.; returns
    weight.
    """
    raise NotImplementedError
