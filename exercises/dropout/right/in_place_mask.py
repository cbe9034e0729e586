import torch


def dropout(x, p=0.5, training=True, generator=None):
    keep = 1 - p
    if keep < 0 or keep > 1:
        raise ValueError("no probability")
    if not training:
        return x
    mask = torch.zeros(x.size()).to(x.device).to(x.dtype)
    mask.bernoulli_(keep, generator=generator)
    if keep:
        mask.div_(keep)
    return mask * x


class Dropout(torch.nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if 0 <= p <= 1:
            self.p = p
        else:
            raise ValueError("no probability")

    def forward(self, x):
        if self.training:
            return dropout(x, self.p)
        return x
