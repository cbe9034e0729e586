import torch
from torch import nn

TABLE = (
    "-1.0 -0.6961928009986877 -0.5250730514526367 -0.39491748809814453 -0.28444138169288635 "
    "-0.18477343022823334 -0.09105003625154495 0.0 0.07958029955625534 0.16093020141124725 "
    "0.24611230194568634 0.33791524171829224 0.44070982933044434 0.5626170039176941 0.7229568362236023 1.0"
)
LEVELS = torch.tensor([float(value) for value in TABLE.split()])


def quantize_nf4(weight, block_size=64):
    if block_size < 1:
        raise ValueError("block_size")
    flat = weight.detach().float().flatten()
    if torch.isnan(flat).any() or torch.isinf(flat).any():
        raise ValueError("not finite")
    levels = LEVELS.to(flat.device)
    codes, scales = [], []
    for block in flat.split(block_size):
        top = block.abs().max()
        scales.append(top)
        if top == 0:
            codes.append(torch.full_like(block, 7, dtype=torch.uint8))
        else:
            codes.append((block.div(top).unsqueeze(1) - levels).abs().argmin(dim=1).to(torch.uint8))
    codes = torch.cat(codes)
    if codes.numel() % 2 == 1:
        codes = torch.cat([codes, codes.new_tensor([7])])
    high, low = codes.view(-1, 2).unbind(1)
    return high * 16 + low, torch.stack(scales)


def dequantize_nf4(packed, absmax, shape, block_size=64, dtype=torch.float32):
    if block_size < 1:
        raise ValueError("block_size")
    n = 1
    for size in shape:
        n *= size
    if len(packed) != (n + 1) // 2:
        raise ValueError("packed does not fit")
    if len(absmax) != (n + block_size - 1) // block_size:
        raise ValueError("absmax does not fit")
    index = torch.arange(n, device=packed.device)
    byte = packed[index // 2].int()
    code = torch.where(index % 2 == 0, byte // 16, byte % 16)
    values = LEVELS.to(packed.device)[code] * absmax[index // block_size]
    return values.reshape(tuple(shape)).to(dtype)


class NF4Linear(nn.Module):
    def __init__(self, base, block_size=64):
        super().__init__()
        self.in_features, self.out_features = base.in_features, base.out_features
        self.block_size = block_size
        packed, absmax = quantize_nf4(base.weight.data, block_size)
        self.weight = nn.Parameter(packed, requires_grad=False)
        self.scales = nn.Parameter(absmax, requires_grad=False)
        if base.bias is not None:
            self.bias = nn.Parameter(base.bias.data.clone(), requires_grad=False)
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        shape = (self.out_features, self.in_features)
        w = dequantize_nf4(self.weight.data, self.scales.data, shape, self.block_size, dtype=x.dtype)
        y = x @ w.t()
        return y if self.bias is None else y + self.bias.to(x.dtype)
