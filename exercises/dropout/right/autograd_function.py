import torch


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep, factor):
        ctx.save_for_backward(keep)
        ctx.factor = factor
        return x.masked_fill(~keep, 0.0).mul_(factor)

    @staticmethod
    def backward(ctx, grad):
        (keep,) = ctx.saved_tensors
        return grad * keep * ctx.factor, None, None


class RateError(ValueError):
    pass


def dropout(x, p=0.5, training=True, generator=None):
    if not (0 <= p <= 1):
        raise RateError(p)
    if training is False:
        return x
    draws = torch.empty_like(x, dtype=torch.float64).uniform_(generator=generator)
    keep = draws < 1 - p
    return Masked.apply(x, keep, 1.0 if p == 1 else 1 / (1 - p))


class Dropout(torch.nn.Module):
    def __init__(self, p: float = 0.5):
        if not (0 <= p <= 1):
            raise RateError(p)
        super().__init__()
        self.p = p

    def forward(self, x):
        return dropout(x, self.p) if self.training else x

    def extra_repr(self):
        return f"p={self.p}"
