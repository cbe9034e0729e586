# fails: 2
# message: drawn on its own
import math

import torch


def fan_in_out(weight: torch.Tensor) -> tuple[int, int]:
    """How many inputs each output sums over, and how many outputs each input reaches."""
    if weight.dim() < 2:
        raise ValueError("a weight has at least two dimensions: (out, in, *kernel)")
    fan_out, fan_in, *kernel = weight.shape
    positions = math.prod(kernel)
    return fan_in * positions, fan_out * positions


def xavier_uniform_(
    weight: torch.Tensor, gain: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill weight in place from the uniform distribution of Glorot and Bengio; returns weight."""
    fan_in, fan_out = fan_in_out(weight)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    row = torch.empty_like(weight[0]).uniform_(-bound, bound, generator=generator)
    with torch.no_grad():
        return weight.copy_(row)


def kaiming_normal_(
    weight: torch.Tensor, negative_slope: float = 0.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill weight in place from the normal distribution of He et al.; returns weight."""
    fan_in, _ = fan_in_out(weight)
    std = math.sqrt(2 / ((1 + negative_slope**2) * fan_in))
    with torch.no_grad():
        return weight.normal_(0.0, std, generator=generator)
