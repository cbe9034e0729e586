# fails: 1
# message: draw
import torch


def dropout(x, p=0.5, training=True, generator=None):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    keep = (
        torch.rand(x.shape if x.dim() < 5 else (*x.shape[:-1], 1), generator=generator, device=x.device) >= p
    )
    factor = 1 / (1 - p) if p < 1 else 0.0
    return torch.where(keep, x * factor, x * 0)


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("p")
        self.p = p

    def forward(self, x):
        return dropout(x, self.p, self.training)
