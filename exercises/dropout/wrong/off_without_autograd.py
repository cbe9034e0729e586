# fails: 1
# message: share of dropped
import torch


def dropout(x, p=0.5, training=True, generator=None):
    if p < 0 or p > 1:
        raise ValueError("p must be between 0 and 1")
    if not training:
        return x
    if p == 1:
        return x * 0
    mask = torch.rand(x.shape, generator=generator, device=x.device) >= p
    return x * mask / (1 - p)


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError("p must be between 0 and 1")
        self.p = p

    def forward(self, x):
        return dropout(x, self.p, self.training and torch.is_grad_enabled())
