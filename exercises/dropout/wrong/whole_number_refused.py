# fails: 4
# message: p = 1 is valid
import torch


def dropout(x, p=0.5, training=True, generator=None):
    if not isinstance(p, float):
        raise TypeError("p must be a float")
    if p < 0 or p > 1 or p != p:
        raise ValueError("p")
    if not training:
        return x
    m = torch.empty_like(x, dtype=torch.float32, requires_grad=False).bernoulli_(1 - p, generator=generator)
    return x * (m / max(1 - p, 1e-30)).to(x.dtype)


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        dropout(torch.zeros(1), p, False)
        self.p = p

    def forward(self, x):
        return dropout(x, self.p, self.training)
