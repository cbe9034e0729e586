# fails: 5
# message: Under torch.no_grad()
import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, in_dim, hidden, out_dim=None):
        super().__init__()
        out_dim = in_dim if out_dim is None else out_dim
        if min(in_dim, hidden, out_dim) < 1:
            raise ValueError("sizes")
        self.norm = nn.LayerNorm(in_dim)
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, out_dim)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)
        self.shortcut = nn.Identity() if in_dim == out_dim else nn.Linear(in_dim, out_dim, bias=False)

    def branch(self, x):
        return self.fc2(self.fc1(self.norm(x)).relu())

    def forward(self, x):
        y = self.branch(x)
        x = self.shortcut(x)
        x = x.data.add_(y) if not x.requires_grad and not y.requires_grad else x + y
        return x


class ResidualStack(nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        if min(dim, hidden, depth) < 1:
            raise ValueError("sizes")
        self.blocks = nn.ModuleList(ResidualBlock(dim, hidden) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
