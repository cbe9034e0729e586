import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, in_dim, hidden, out_dim=None):
        super().__init__()
        sizes = [in_dim, hidden, in_dim if out_dim is None else out_dim]
        if min(sizes) <= 0:
            raise ValueError(f"sizes {sizes}")
        i, h, o = sizes
        self.norm = nn.LayerNorm(i)
        self.fc1 = nn.Linear(i, h)
        self.fc2 = nn.utils.skip_init(nn.Linear, h, o)
        with torch.no_grad():
            self.fc2.weight.zero_()
            self.fc2.bias.fill_(0)
        self.shortcut = nn.Linear(i, o, bias=False) if i != o else nn.Identity()

    def forward(self, x):
        # everything in float64, normalised by hand
        d = x.double()
        centred = d - d.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + self.norm.eps).rsqrt()
        n = centred * scale * self.norm.weight.double() + self.norm.bias.double()
        a = torch.einsum("...i,hi->...h", n, self.fc1.weight.double()) + self.fc1.bias.double()
        a = torch.where(a > 0, a, torch.zeros_like(a))
        y = torch.einsum("...h,oh->...o", a, self.fc2.weight.double()) + self.fc2.bias.double()
        return self.shortcut(x) + y.to(x.dtype)


class ResidualStack(nn.Module):
    def __init__(self, dim, hidden, depth):
        super().__init__()
        if depth < 1:
            raise ValueError("depth must be positive")
        self.blocks = nn.ModuleList([ResidualBlock(dim, hidden) for _ in range(depth)])

    def forward(self, x):
        def run(i, h):
            return h if i == len(self.blocks) else run(i + 1, self.blocks[i](h))

        return run(0, x)
