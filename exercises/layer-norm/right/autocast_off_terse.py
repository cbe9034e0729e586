import torch


def standardise(x, dims, eps, centre):
    x = x - x.mean(dims, True) if centre else x
    return x * (x.square().mean(dims, True) + eps).pow(-0.5)


class RMSNorm(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))
        self.eps = eps
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x):
        if not x.shape[-1] == self.weight.shape[0]:
            raise ValueError(tuple(x.shape))
        with torch.autocast(x.device.type, enabled=False):
            wide = x if x.dtype == torch.float64 else x.to(torch.float32)
            return self.weight.mul(standardise(wide, -1, self.eps, False)).to(x.dtype)


class LayerNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, affine=True):
        super().__init__()
        try:
            self.size = tuple(normalized_shape)
        except TypeError:
            self.size = (normalized_shape,)
        self.eps = eps
        self.weight = self.bias = None
        if affine:
            self.weight = torch.nn.Parameter(torch.empty(self.size))
            self.bias = torch.nn.Parameter(torch.empty(self.size))
            torch.nn.init.ones_(self.weight)
            torch.nn.init.zeros_(self.bias)

    def forward(self, x):
        if x.shape[-len(self.size) :] != torch.Size(self.size):
            raise ValueError(tuple(x.shape))
        with torch.autocast(x.device.type, enabled=False):
            wide = x if x.dtype == torch.float64 else x.to(torch.float32)
            y = standardise(wide, list(range(-len(self.size), 0)), self.eps, True)
            return (y if self.weight is None else y * self.weight + self.bias).to(x.dtype)
