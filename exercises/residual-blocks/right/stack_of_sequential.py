import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, in_dim, hidden, out_dim=None):
        super().__init__()
        self.in_dim = in_dim
        self.out_dim = in_dim if out_dim is None else out_dim
        if not (in_dim >= 1 and hidden >= 1 and self.out_dim >= 1):
            raise ValueError("sizes start at 1")
        self.shortcut = nn.Identity()
        if self.out_dim != self.in_dim:
            self.shortcut = nn.Linear(self.in_dim, self.out_dim, bias=False)
        self.norm, self.fc1, self.fc2 = (
            nn.LayerNorm(in_dim),
            nn.Linear(in_dim, hidden),
            nn.Linear(hidden, self.out_dim),
        )
        for p in self.fc2.parameters():
            nn.init.constant_(p, 0.0)

    def branch(self, x):
        return self.fc2(nn.functional.relu(self.fc1(self.norm(x))))

    def forward(self, x):
        residual = x
        x = self.branch(x)
        return x + self.shortcut(residual)


class ResidualStack(nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        if depth < 1 or dim < 1 or hidden < 1:
            raise ValueError((dim, hidden, depth))
        self.depth = depth
        self.blocks = nn.ModuleList(ResidualBlock(dim, hidden) for _ in range(depth))

    def forward(self, x):
        out = x
        for i in range(self.depth):
            out = self.blocks[i](out)
        return out
