from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class _Rate:
    p: float

    def __post_init__(self):
        if self.p < 0 or self.p > 1 or self.p != self.p:
            raise ValueError(f"p={self.p}")

    @property
    def scale(self):
        return 0.0 if self.p == 1 else 1.0 / (1.0 - self.p)

    def mask(self, x, generator):
        flat = torch.empty(x.numel(), dtype=torch.float64, device=x.device)
        flat.uniform_(0.0, 1.0, generator=generator)
        return flat.ge(self.p).view(x.shape)


def dropout(x, p=0.5, training=True, generator=None):
    rate = _Rate(p)
    if not training or p == 0:
        return x
    m = rate.mask(x, generator).to(x.dtype)
    return x.mul(m).mul(rate.scale)


class Dropout(torch.nn.Module):
    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self._rate = _Rate(p)

    def forward(self, x):
        return dropout(x, self._rate.p, training=self.training)
