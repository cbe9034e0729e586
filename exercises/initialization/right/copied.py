import torch


def fan_in_out(weight):
    if weight.ndim < 2:
        raise ValueError("need at least 2 dimensions")
    receptive = weight[0, 0].numel()
    return weight.size(1) * receptive, weight.size(0) * receptive


def xavier_uniform_(weight, gain=1.0, generator=None):
    fi, fo = fan_in_out(weight)
    a = gain * (6.0 / (fi + fo)) ** 0.5
    sample = torch.rand(weight.shape, generator=generator, device=weight.device, dtype=weight.dtype)
    with torch.no_grad():
        weight.copy_((2 * sample - 1) * a)
    return weight


def kaiming_normal_(weight, negative_slope=0.0, generator=None):
    fi, _ = fan_in_out(weight)
    gain = (2.0 / (1 + negative_slope**2)) ** 0.5
    sample = torch.randn(weight.shape, generator=generator, device=weight.device, dtype=torch.float32)
    weight.data.copy_(sample * gain / fi**0.5)
    return weight
