import torch
from torch import nn


def _unit(v, length):
    safe = length + (length == 0).to(length.dtype)
    return v / safe.unsqueeze(-1)


class DoRALinear(nn.Module):
    """Base weight and bias are buffers; the low-rank path is applied to x, not to the weight."""

    def __init__(self, base, rank, alpha):
        if rank < 1:
            raise ValueError(f"rank {rank}")
        super().__init__()
        self.register_buffer("frozen", base.weight.detach().clone())
        self.register_buffer("bias", None if base.bias is None else base.bias.detach().clone())
        like = {"dtype": self.frozen.dtype, "device": self.frozen.device}
        self.factor = alpha / rank
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features, **like))
        nn.init.kaiming_uniform_(self.lora_A, a=5**0.5)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank, **like))
        self.magnitude = nn.Parameter(torch.linalg.vector_norm(self.frozen, dim=-1))

    def forward(self, x):
        with torch.no_grad():
            length = torch.linalg.vector_norm(
                torch.addmm(self.frozen, self.lora_B, self.lora_A, alpha=self.factor), dim=-1
            )
            length = length.masked_fill(length == 0, 1)
        y = torch.einsum("...i,oi->...o", x, self.frozen)
        y = y + torch.einsum("...i,ri,or->...o", x, self.lora_A, self.lora_B) * self.factor
        y = y * (self.magnitude / length)
        return y if self.bias is None else y + self.bias

    def merge(self):
        with torch.no_grad():
            v = self.frozen + self.factor * (self.lora_B @ self.lora_A)
            w = self.magnitude[:, None] * _unit(v, v.norm(dim=1))
        plain = nn.utils.skip_init(
            nn.Linear, v.shape[1], v.shape[0], bias=self.bias is not None, dtype=v.dtype, device=v.device
        )
        plain.weight = nn.Parameter(w)
        if self.bias is not None:
            plain.bias = nn.Parameter(self.bias.clone())
        return plain
