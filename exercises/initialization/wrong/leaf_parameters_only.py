# fails: 10
# message: fused weight
import math

import torch


def fan_in_out(weight):
    if weight.dim() < 2:
        raise ValueError("needs two dimensions")
    k = 1
    for s in weight.shape[2:]:
        k *= s
    return weight.shape[1] * k, weight.shape[0] * k


def xavier_uniform_(weight, gain=1.0, generator=None):
    fan_in, fan_out = fan_in_out(weight)
    a = gain * math.sqrt(6 / (fan_in + fan_out))
    with torch.no_grad():
        weight.uniform_(-a, a, generator=generator)
    return weight


def kaiming_normal_(weight, negative_slope=0.0, generator=None):
    fan_in, _ = fan_in_out(weight)
    std = math.sqrt(2 / ((1 + negative_slope**2) * fan_in))
    flag = weight.requires_grad
    weight.requires_grad_(False)
    weight.normal_(0, std, generator=generator)
    weight.requires_grad_(flag)
    return weight
