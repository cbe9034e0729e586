# fails: 4
# message: branch was cut off
import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, in_dim, hidden, out_dim=None):
        super().__init__()
        if out_dim is None:
            out_dim = in_dim
        if in_dim < 1 or hidden < 1 or out_dim < 1:
            raise ValueError("sizes")
        self.norm = nn.LayerNorm(in_dim)
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, out_dim)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)
        if in_dim == out_dim:
            self.shortcut = nn.Identity()
        else:
            self.shortcut = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x):
        h = self.norm(x)
        h = self.fc1(h.detach())
        h = torch.relu(h)
        h = self.fc2(h)
        return self.shortcut(x) + h


class ResidualStack(nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        if dim < 1 or hidden < 1 or depth < 1:
            raise ValueError("sizes")
        self.blocks = nn.ModuleList([ResidualBlock(dim, hidden) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
