# fails: 7
# message: not contiguous
import torch
import torch.nn.functional as F


class ResidualBlock(torch.nn.Module):
    def __init__(self, in_dim, hidden, out_dim=None):
        super().__init__()
        if out_dim is None:
            out_dim = in_dim
        if in_dim < 1 or hidden < 1 or out_dim < 1:
            raise ValueError("dims must be positive")
        self.norm = torch.nn.LayerNorm(in_dim)
        self.fc1 = torch.nn.Linear(in_dim, hidden)
        self.fc2 = torch.nn.Linear(hidden, out_dim)
        torch.nn.init.zeros_(self.fc2.weight)
        torch.nn.init.zeros_(self.fc2.bias)
        if in_dim == out_dim:
            self.shortcut = torch.nn.Identity()
        else:
            self.shortcut = torch.nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x):
        shape = x.shape
        x = x.view(-1, shape[-1])
        h = self.norm(x)
        return (self.shortcut(x) + self.fc2(F.relu(self.fc1(h)))).view(*shape[:-1], -1)


class ResidualStack(torch.nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        if depth < 1:
            raise ValueError("depth")
        self.blocks = torch.nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(ResidualBlock(dim, hidden))

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x
