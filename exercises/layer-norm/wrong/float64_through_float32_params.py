# fails: 10
# message: passed through float32
import torch


class LayerNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        if affine:
            self.weight = torch.nn.Parameter(torch.ones(self.normalized_shape))
            self.bias = torch.nn.Parameter(torch.zeros(self.normalized_shape))
        else:
            self.weight = None
            self.bias = None

    def forward(self, x):
        k = len(self.normalized_shape)
        if tuple(x.shape[-k:]) != self.normalized_shape:
            raise ValueError("shape does not fit")
        dims = tuple(range(-k, 0))
        h = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        mean = h.mean(dim=dims, keepdim=True)
        var = ((h - mean) ** 2).mean(dim=dims, keepdim=True)
        y = (h - mean) / torch.sqrt(var + self.eps)
        if self.weight is not None:
            y = y.to(self.weight.dtype) * self.weight + self.bias
        return y.to(x.dtype)


class RMSNorm(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if x.shape[-1] != self.dim:
            raise ValueError("last dimension does not fit")
        h = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        y = h / torch.sqrt((h * h).mean(-1, keepdim=True) + self.eps)
        return (y * self.weight).to(x.dtype)
