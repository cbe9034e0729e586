import copy
import functools

import torch
import torch.nn.functional as F


class SizeError(ValueError):
    pass


def positive(**sizes):
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise SizeError(f"{name}={size}")


class ZeroLinear(torch.nn.Linear):
    def reset_parameters(self):
        with torch.no_grad():
            self.weight.fill_(0)
            self.bias.fill_(0)


class ResidualBlock(torch.nn.Module):
    def __init__(self, in_dim: int, hidden: int, out_dim: int | None = None):
        positive(in_dim=in_dim, hidden=hidden, out_dim=out_dim)
        super().__init__()
        same = out_dim in (None, in_dim)
        self.norm = torch.nn.LayerNorm((in_dim,))
        self.fc1 = torch.nn.Linear(in_dim, hidden)
        torch.nn.init.kaiming_normal_(self.fc1.weight)
        self.fc2 = ZeroLinear(hidden, in_dim if same else out_dim)
        self.shortcut = torch.nn.Identity() if same else torch.nn.Linear(in_dim, out_dim, False)

    def forward(self, x):
        h = F.layer_norm(x, self.norm.normalized_shape, self.norm.weight, self.norm.bias, self.norm.eps)
        h = F.linear(h, self.fc1.weight, self.fc1.bias).clamp(min=0)
        return torch.add(F.linear(h, self.fc2.weight, self.fc2.bias), self.shortcut(x))


class ResidualStack(torch.nn.Module):
    def __init__(self, dim: int, hidden: int, depth: int):
        positive(dim=dim, hidden=hidden, depth=depth)
        super().__init__()
        first = ResidualBlock(dim, hidden)
        self.blocks = torch.nn.ModuleList(copy.deepcopy(first) for _ in range(depth))

    def forward(self, x):
        return functools.reduce(lambda value, block: block(value), self.blocks, x)
