import torch
from torch import Tensor


def _collect(parameters):
    parameters = (parameters,) if torch.is_tensor(parameters) else tuple(parameters)
    return [p.grad.detach() for p in parameters if p.grad is not None]


def clip_grad_norm(parameters, max_norm: float) -> Tensor:
    if not max_norm > 0:
        raise ValueError(f"max_norm = {max_norm}")
    grads = _collect(parameters)
    squares = [(g.to(torch.promote_types(g.dtype, torch.float32)) ** 2).sum() for g in grads]
    norm = sum(squares, start=torch.zeros((), device=grads[0].device if grads else None)).sqrt()
    factor = max_norm / (norm.item() + 1e-6)
    if norm.item() > max_norm and norm.item() != float("inf"):
        torch._foreach_mul_(grads, factor)
    return norm


def clip_grad_value(parameters, clip_value: float) -> None:
    if not clip_value > 0:
        raise ValueError(f"clip_value = {clip_value}")
    grads = _collect(parameters)
    if grads:
        torch._foreach_clamp_min_(grads, -clip_value)
        torch._foreach_clamp_max_(grads, clip_value)
