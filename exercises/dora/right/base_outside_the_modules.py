import copy

import torch
from torch import nn


class _Constant(torch.autograd.Function):
    """Row norms whose derivative is taken as zero."""

    @staticmethod
    def forward(ctx, v):
        wide = v.double()
        peak = wide.abs().amax(1, keepdim=True)
        peak = peak + (peak == 0).double()
        return peak.squeeze(1) * (wide / peak).square().sum(1).sqrt()

    @staticmethod
    def backward(ctx, g):
        return None


class DoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank")
        self._frozen = (base,)  # no submodule: kept out of the state dict
        base.weight.requires_grad_(False)
        if base.bias is not None:
            base.bias.requires_grad_(False)
        w = base.weight.detach()
        self.s = alpha / rank
        self.lora_A = nn.Parameter(w.new_empty(rank, w.size(1)).uniform_(-0.1, 0.1))
        self.lora_B = nn.Parameter(w.new_zeros(w.size(0), rank))
        self.magnitude = nn.Parameter(_Constant.apply(w).to(w.dtype))

    def forward(self, x):
        (base,) = self._frozen
        w = base.weight.double()
        a, b = self.lora_A.double(), self.lora_B.double()
        n = _Constant.apply(w + self.s * (b @ a).detach())
        factor = torch.where(n == 0, 0.0, self.magnitude.double() / torch.where(n == 0, 1.0, n))
        xd = x.double()
        y = torch.einsum("...i,oi->...o", xd, w)
        y = y + self.s * torch.einsum("...i,ri,or->...o", xd, a, b)
        y = y * factor
        if base.bias is not None:
            y = y + base.bias.double()
        return y.to(x.dtype)

    def merge(self):
        (base,) = self._frozen
        with torch.no_grad():
            twin = copy.deepcopy(base)
            eye = torch.eye(base.in_features, dtype=torch.float64, device=base.weight.device)
            rows = self.forward(eye)
            if base.bias is not None:
                rows = rows - base.bias.double()
            twin.weight.copy_(rows.T)
        return twin
