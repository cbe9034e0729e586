import torch
from torch import nn


class DoRALinear(nn.Module):
    """Works on outputs: y = c * (x W^T + s (x A^T) B^T) + b, c = m / ||V|| outside the big product."""

    def __init__(self, base, rank, alpha):
        if rank < 1:
            raise ValueError("rank")
        super().__init__()
        for p in base.parameters():
            p.requires_grad = False
        self.linear = base
        self.ratio = alpha / rank
        w = base.weight
        a = torch.empty_like(w[:1].expand(rank, -1).contiguous()).uniform_(-0.1, 0.1)
        self.register_parameter("lora_A", nn.Parameter(a))
        self.register_parameter("lora_B", nn.Parameter(torch.zeros_like(w[:, :1]).repeat(1, rank)))
        self.register_parameter(
            "magnitude", nn.Parameter(w.detach().double().square().sum(1).sqrt().to(w.dtype))
        )

    @torch.no_grad()
    def inverse_norm(self):
        w = self.linear.weight.double()
        a, b = self.lora_A.double(), self.lora_B.double() * self.ratio
        # ||w + b a||^2 = |w|^2 + 2 (w a^T) b + b (a a^T) b
        v = w + b @ a
        n = v.square().sum(1).sqrt()
        return torch.where(n > 0, 1 / n, 0.0)

    def forward(self, x):
        scale = self.magnitude * self.inverse_norm()
        y = (
            x.double() @ self.linear.weight.double().T
            + (x.double() @ self.lora_A.double().T) @ self.lora_B.double().T * self.ratio
        ) * scale
        if self.linear.bias is not None:
            y = y + self.linear.bias
        return y.to(x.dtype)

    def merge(self):
        with torch.no_grad():
            v = self.linear.weight.double() + self.ratio * self.lora_B.double() @ self.lora_A.double()
            w = (v * (self.magnitude * self.inverse_norm())[:, None]).to(self.linear.weight.dtype)
            out = nn.utils.skip_init(
                nn.Linear,
                w.shape[1],
                w.shape[0],
                bias=self.linear.bias is not None,
                dtype=w.dtype,
                device=w.device,
            )
            out.load_state_dict(
                {"weight": w} | ({} if self.linear.bias is None else {"bias": self.linear.bias})
            )
        return out
