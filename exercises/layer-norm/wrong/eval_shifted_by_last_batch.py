# fails: 1
# message: running statistics
import torch
from torch import nn


def _wide(x):
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, affine=True):
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.shape)) if affine else None
        self.bias = nn.Parameter(torch.zeros(self.shape)) if affine else None

    def forward(self, x):
        if x.shape[-len(self.shape) :] != self.shape:
            raise ValueError(f"{tuple(x.shape)} does not end in {self.shape}")
        w, dims = _wide(x), tuple(range(-len(self.shape), 0))
        m = w.mean(dims, keepdim=True)
        if self.training:
            self.seen = m.detach().mean()
        c = w - (m if self.training else self.seen + m - m.detach().mean())
        y = c * torch.rsqrt(c.square().mean(dims, keepdim=True) + self.eps)
        if self.weight is not None:
            y = y * self.weight + self.bias
        return y.to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if x.shape[-1:] != self.weight.shape:
            raise ValueError(f"last dimension of {tuple(x.shape)} is not {len(self.weight)}")
        w = _wide(x)
        return (w * torch.rsqrt(w.square().mean(-1, keepdim=True) + self.eps) * self.weight).to(x.dtype)
