# fails: 11
# message: range of float32
import torch


def dropout(x, p=0.5, training=True, generator=None):
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie in [0, 1], got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    keep = torch.rand(x.shape, device=x.device, generator=generator) >= p
    return (x.float() * keep / (1 - p)).to(x.dtype)


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("p must lie in [0, 1]")
        self.p = p

    def forward(self, x):
        return dropout(x, self.p, self.training)
