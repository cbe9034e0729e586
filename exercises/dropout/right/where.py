import torch
from torch import nn


def dropout(x, p=0.5, training=True, generator=None):
    if p < 0 or p > 1:
        raise ValueError("p must be between 0 and 1")
    if not training:
        return x.clone()
    drop = torch.bernoulli(torch.full_like(x, p, dtype=torch.float32), generator=generator).bool()
    scale = 1 / (1 - p) if p < 1 else 0.0
    return torch.where(drop, torch.zeros_like(x), x * scale)


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError("p must be between 0 and 1")
        self._rate = p

    def forward(self, x):
        return dropout(x, p=self._rate, training=self.training)
