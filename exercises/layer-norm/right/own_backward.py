import torch
from torch import nn


class Standardise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dims, eps, centre):
        wide = x.float() if x.element_size() == 2 else x
        if centre:
            wide = wide - wide.mean(dims, keepdim=True)
        inv = 1 / torch.sqrt((wide * wide).mean(dims, keepdim=True) + eps)
        y = wide * inv
        ctx.save_for_backward(y, inv)
        ctx.dims, ctx.centre, ctx.dtype = dims, centre, x.dtype
        return y

    @staticmethod
    def backward(ctx, grad):
        y, inv = ctx.saved_tensors
        g = grad - y * (grad * y).mean(ctx.dims, keepdim=True)
        if ctx.centre:
            g = g - grad.mean(ctx.dims, keepdim=True)
        return (g * inv).to(ctx.dtype), None, None, None


class _Norm(nn.Module):
    centre = True

    def __init__(self, shape, eps, affine):
        super().__init__()
        self.shape = shape
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(*shape)) if affine else None

    def forward(self, x):
        n = len(self.shape)
        if tuple(x.shape)[-n:] != self.shape:
            raise ValueError(f"{tuple(x.shape)} does not end in {self.shape}")
        y = Standardise.apply(x, tuple(range(x.dim() - n, x.dim())), self.eps, self.centre)
        if self.weight is not None:
            y = y * self.weight
            if self.centre:
                y = y + self.bias
        return y.to(x.dtype)


class LayerNorm(_Norm):
    def __init__(self, normalized_shape, eps=1e-5, affine=True):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        super().__init__(shape, eps, affine)
        self.bias = nn.Parameter(torch.zeros(*shape)) if affine else None


class RMSNorm(_Norm):
    centre = False

    def __init__(self, dim, eps=1e-6):
        super().__init__((dim,), eps, True)
