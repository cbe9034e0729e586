import math

import torch


def fan_in_out(weight):
    if len(weight.size()) < 2:
        raise ValueError("two dimensions or more")
    window = math.prod(weight.shape[2:])
    return (int(weight.shape[1] * window), int(weight.shape[0] * window))


def uniform(weight, generator):
    return torch.rand(weight.shape, dtype=torch.float64, device=weight.device, generator=generator)


def xavier_uniform_(weight, gain=1.0, generator=None):
    fan_in, fan_out = fan_in_out(weight)
    a = gain * math.sqrt(6 / (fan_in + fan_out))
    with torch.no_grad():
        weight[...] = torch.lerp(
            torch.full_like(weight, -a, dtype=torch.float64),
            torch.full_like(weight, a, dtype=torch.float64),
            uniform(weight, generator),
        ).to(weight.dtype)
    return weight


def kaiming_normal_(weight, negative_slope=0.0, generator=None):
    fan_in, _ = fan_in_out(weight)
    radius = (-2 * (1 - uniform(weight, generator)).log()).sqrt()
    angle = 2 * math.pi * uniform(weight, generator)
    with torch.no_grad():
        weight.copy_(radius * angle.cos()).mul_(math.sqrt(2 / fan_in / (1 + negative_slope**2)))
    return weight
