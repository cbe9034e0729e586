import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = torch.Size(normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if affine else None
        self.bias = nn.Parameter(torch.zeros(self.normalized_shape)) if affine else None

    def forward(self, x):
        k = len(self.normalized_shape)
        if x.dim() < k or x.shape[-k:] != self.normalized_shape:
            raise ValueError("shape mismatch")
        dtype = x.dtype
        x = x.to(torch.promote_types(dtype, torch.float32))
        dims = [-(i + 1) for i in range(k)]
        var, mean = torch.var_mean(x, dim=dims, unbiased=False, keepdim=True)
        y = (x - mean) / torch.sqrt(var + self.eps)
        if self.weight is not None:
            y = self.weight.to(y.dtype) * y + self.bias.to(y.dtype)
        return y.to(dtype)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if x.size(-1) != self.dim:
            raise ValueError("shape mismatch")
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        y = y / (y.pow(2).mean(dim=-1, keepdim=True) + self.eps) ** 0.5
        return (y.to(x.dtype) * self.weight).to(x.dtype)
