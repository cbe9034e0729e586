from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, in_dim, hidden, out_dim=None):
        super().__init__()
        if out_dim is None:
            out_dim = in_dim
        for size in (in_dim, hidden, out_dim):
            if size <= 0:
                raise ValueError(f"bad size {size}")
        self.norm = nn.LayerNorm(in_dim, eps=1e-6)
        self.fc1 = nn.Linear(in_dim, hidden)
        self.act = nn.ReLU(inplace=True)
        self.fc2 = nn.Linear(hidden, out_dim)
        self.fc2.weight.data.zero_()
        self.fc2.bias.data.zero_()
        self.branch = nn.Sequential(self.norm, self.fc1, self.act, self.fc2)
        if in_dim != out_dim:
            self.shortcut = nn.Linear(in_dim, out_dim, bias=False)
        else:
            self.shortcut = nn.Identity()

    def forward(self, x):
        out = self.branch(x)
        out += self.shortcut(x)
        return out


class ResidualStack(nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        if depth <= 0:
            raise ValueError("depth")
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(ResidualBlock(dim, hidden, dim))

    def forward(self, x):
        return nn.Sequential(*self.blocks)(x)
