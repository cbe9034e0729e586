from __future__ import annotations

from enum import Enum
from typing import Any

import torch
from torch import Tensor


class Reduction(str, Enum):
    MEAN = "mean"
    SUM = "sum"
    NONE = "none"


def _lse(x: Tensor, dim: int) -> Tensor:
    top = x.detach().amax(dim, keepdim=True)
    top = top.masked_fill(top.isneginf(), 0.0)
    return (x - top).exp_().sum(dim, keepdim=True).log_().add_(top)


class _LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        wide = x.float() if x.dtype in (torch.half, torch.bfloat16) else x
        out = (wide - _lse(wide, dim)).to(x.dtype)
        ctx.dim = dim
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        return grad - out.exp() * grad.sum(ctx.dim, keepdim=True), None


class _NLL(torch.autograd.Function):
    """Per position losses; the gradient is softmax minus one-hot, formed only in backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, keep: Tensor) -> Tensor:
        ctx.dtype = x.dtype
        wide = x.float() if x.dtype in (torch.half, torch.bfloat16) else x
        lse = _lse(wide, -1)
        loss = (lse - wide.gather(-1, index)).squeeze(-1).masked_fill(~keep, 0.0)
        ctx.save_for_backward(wide, lse, index, keep)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor):
        wide, lse, index, keep = ctx.saved_tensors
        p = (wide - lse).exp()
        p.scatter_add_(-1, index, -torch.ones_like(index, dtype=p.dtype))
        p = (p * grad.unsqueeze(-1)).masked_fill(~keep.unsqueeze(-1), 0.0)
        return p.to(ctx.dtype), None, None


def log_softmax(logits: Tensor, dim: int = -1) -> Tensor:
    return _LogSoftmax.apply(logits, dim)


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    reduction: str = "mean",
    ignore_index: int = -100,
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    try:
        how = Reduction(reduction)
    except ValueError:
        raise ValueError(f"reduction {reduction!r} is not one of mean, sum, none") from None
    if tuple(targets.shape) != tuple(logits.shape[:-1]):
        raise ValueError(f"targets {tuple(targets.shape)} for logits {tuple(logits.shape)}")
    assert label_smoothing == 0.0
    keep = targets.ne(ignore_index)
    counted = targets[keep]
    if counted.numel() and (counted.min() < 0 or counted.max() >= logits.size(-1)):
        raise ValueError("a target is not a class")
    losses = _NLL.apply(logits, targets.where(keep, 0).unsqueeze(-1), keep)
    match how:
        case Reduction.NONE:
            return losses
        case Reduction.SUM:
            return losses.sum()
        case Reduction.MEAN:
            return losses.sum() / max(counted.numel(), 1)
