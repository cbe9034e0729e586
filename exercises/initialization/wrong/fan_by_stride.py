# fails: 1
# message: not its memory
import math

import torch


def fan_in_out(weight):
    if weight.ndim < 2:
        raise ValueError("fewer than two dimensions")
    k = math.prod(weight.shape[2:])
    return weight.stride(0), weight.shape[0] * k


@torch.no_grad()
def xavier_uniform_(weight, gain=1.0, generator=None):
    a = gain * math.sqrt(6 / sum(fan_in_out(weight)))
    return weight.uniform_(-a, a, generator=generator)


@torch.no_grad()
def kaiming_normal_(weight, negative_slope=0.0, generator=None):
    std = math.sqrt(2 / ((1 + negative_slope**2) * fan_in_out(weight)[0]))
    return weight.normal_(0, std, generator=generator)
