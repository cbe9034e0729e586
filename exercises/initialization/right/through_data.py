import math

import torch


class FewDimensions(ValueError):
    pass


def fan_in_out(weight: torch.Tensor):
    shape = list(weight.shape)
    if len(shape) <= 1:
        raise FewDimensions(shape)
    kernel = 1
    for n in shape[2:]:
        kernel *= n
    return [shape[1] * kernel, shape[0] * kernel]


def xavier_uniform_(weight, gain=1.0, generator=None):
    std = gain * math.sqrt(2.0 / sum(fan_in_out(weight)))
    weight.data.uniform_(-math.sqrt(3) * std, math.sqrt(3) * std, generator=generator)
    return weight


def kaiming_normal_(weight, negative_slope=0.0, generator=None):
    std = math.sqrt(2 / (1 + negative_slope * negative_slope)) / math.sqrt(fan_in_out(weight)[0])
    weight.detach().normal_(mean=0, std=std, generator=generator)
    return weight
