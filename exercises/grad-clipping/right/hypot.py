import math
from collections.abc import Iterator

import torch


def _each(parameters) -> Iterator[torch.Tensor]:
    for p in (parameters,) if torch.is_tensor(parameters) else parameters:
        if (g := p.grad) is not None:
            yield g.detach()


def clip_grad_norm(parameters, max_norm):
    if not max_norm > 0:
        raise ValueError(f"max_norm={max_norm}")
    grads = tuple(_each(parameters))
    total = None
    for g in grads:
        flat = g.reshape(-1).to(torch.promote_types(g.dtype, torch.float32))
        top = flat.abs().max() if flat.numel() else flat.sum()
        safe = top if bool(top > 0) and bool(top < math.inf) else torch.ones_like(top)
        size = torch.sqrt(torch.einsum("i,i->", flat / safe, flat / safe)) * safe
        total = (
            size
            if total is None
            else torch.hypot(
                *torch.broadcast_tensors(
                    total.to(torch.promote_types(total.dtype, size.dtype)),
                    size.to(torch.promote_types(total.dtype, size.dtype)),
                )
            )
        )
    if total is None:
        return torch.zeros(())
    value = total.item()
    if math.isfinite(value) and value > max_norm:
        for g in grads:
            g.copy_((g.to(torch.float64) * (max_norm / value)).to(g.dtype))
    return total


def clip_grad_value(parameters, clip_value):
    if not clip_value > 0:
        raise ValueError(f"clip_value={clip_value}")
    for g in _each(parameters):
        g[g > clip_value] = clip_value
        g[g < -clip_value] = -clip_value
