import torch


class OutOfRange(ValueError):
    pass


class _LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        z = x - x.max(dim, True).values
        out = z - z.exp().sum(dim, True).log()
        ctx.save_for_backward(out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad - out.exp() * grad.sum(ctx.dim, True), None


def log_softmax(logits, dim=-1):
    return _LogSoftmax.apply(logits, dim)


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    *lead, classes = logits.shape
    if list(targets.shape) != lead:
        raise ValueError(f"expected targets of shape {lead}")
    ignored = targets.eq(ignore_index)
    if torch.any(~ignored & (targets.lt(0) | targets.ge(classes))):
        raise OutOfRange("targets")
    if torch.finfo(logits.dtype).bits < 32:
        logits = logits.float()
    safe = targets.masked_fill(ignored, 0)
    nll = -torch.take_along_dim(log_softmax(logits), safe[..., None], dim=-1)[..., 0]
    nll = nll.masked_fill(ignored, 0)
    match reduction:
        case "none":
            return nll
        case "sum":
            return nll.sum()
        case "mean":
            n = int((~ignored).sum())
            return nll.sum() / n if n else nll.sum()
    raise ValueError("reduction must be mean, sum or none")
