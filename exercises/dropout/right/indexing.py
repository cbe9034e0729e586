import torch


def dropout(x: torch.Tensor, p: float = 0.5, training: bool = True, generator=None) -> torch.Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0.0 or not training:
        return x
    if p == 1.0:
        return torch.zeros_like(x) * x
    survivors = torch.rand(x.shape, device=x.device, dtype=torch.float32, generator=generator) > p
    out = torch.zeros_like(x)
    out[survivors] = x[survivors] / (1 - p)
    return out


class Dropout(torch.nn.Module):
    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        dropout(torch.zeros(1), p)
        self.keep = 1.0 - p
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return dropout(x, self.p, self.training, None)
