import torch


def fan_in_out(weight):
    if weight.dim() < 2:
        raise ValueError(f"no fans for shape {tuple(weight.shape)}")
    return weight.numel() // weight.shape[0], weight.numel() // weight.shape[1]


@torch.no_grad()
def xavier_uniform_(weight, gain=1.0, generator=None):
    bound = gain * torch.tensor(6.0 / sum(fan_in_out(weight)), dtype=torch.float64).sqrt().item()
    weight.uniform_(generator=generator)
    weight.sub_(0.5).mul_(2 * bound)
    return weight


@torch.no_grad()
def kaiming_normal_(weight, negative_slope=0.0, generator=None):
    fan_in = fan_in_out(weight)[0]
    weight.normal_(generator=generator)
    weight /= (fan_in * (1 + negative_slope**2) / 2) ** 0.5
    return weight
