import math

import torch


class Mismatch(ValueError):
    pass


class LayerNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps: float = 1e-5, affine: bool = True):
        super().__init__()
        self._shape = tuple(
            [normalized_shape] if not hasattr(normalized_shape, "__len__") else normalized_shape
        )
        self._size = math.prod(self._shape)
        self.eps = eps
        for name, start in (("weight", 1.0), ("bias", 0.0)):
            self.register_parameter(
                name, torch.nn.Parameter(torch.full(self._shape, start)) if affine else None
            )

    def forward(self, x):
        if x.shape[max(0, x.dim() - len(self._shape)) :] != self._shape:
            raise Mismatch(x.shape)
        rows = x.reshape(-1, self._size)
        if x.dtype in (torch.half, torch.bfloat16):
            rows = rows.to(torch.float32)
        ones = rows.new_ones(self._size)
        rows = rows - (rows @ ones)[:, None] / self._size
        std = (torch.einsum("nd,nd->n", rows, rows) / self._size + self.eps).sqrt()
        out = (rows / std.unsqueeze(1)).view(x.shape)
        if self.weight is not None:
            out = torch.addcmul(self.bias.to(out), out, self.weight.to(out))
        return out.type_as(x)


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones((dim,)))
        self.eps = eps

    def forward(self, x):
        if x.shape[-1] != self.weight.numel():
            raise Mismatch(x.shape)
        wide = x.double() if x.dtype is torch.float64 else x.float()
        norm = wide.norm(dim=-1, keepdim=True) / math.sqrt(self.weight.numel())
        scale = torch.hypot(norm, torch.full_like(norm, math.sqrt(self.eps)))
        return (wide / scale * self.weight).type_as(x)
