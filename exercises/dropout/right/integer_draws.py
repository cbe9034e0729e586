import torch


def dropout(x, p=0.5, training=True, generator=None):
    """Compares 31-bit integers instead of uniform floats."""
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x
    q = round((1 - p) * 2**31)
    r = torch.randint(0, 2**31, tuple(x.shape), generator=generator, device=x.device)
    if q == 0:
        return x.masked_fill(torch.ones_like(x, dtype=torch.bool), 0)
    return x.masked_fill(r >= q, 0).div(1 - p)


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError("p")
        self.p = p

    def forward(self, x):
        return dropout(x, self.p, training=self.training)
