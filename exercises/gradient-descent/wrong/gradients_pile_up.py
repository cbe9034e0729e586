# fails: 1
# message: still in there
from collections.abc import Callable

import torch


def gradient_descent(
    f: Callable[[torch.Tensor], torch.Tensor],
    x0: torch.Tensor,
    lr: float,
    steps: int,
    tol: float = 0.0,
) -> tuple[torch.Tensor, list[float]]:
    """Take at most ``steps`` steps from ``x0`` down the gradient of ``f``; return the last x and the losses."""
    if lr <= 0:
        raise ValueError("lr must be positive")
    if steps < 0:
        raise ValueError("steps must not be negative")
    x = x0.detach().clone()
    total = torch.zeros_like(x)
    losses: list[float] = []
    while True:
        leaf = x.clone().requires_grad_()
        loss = f(leaf)
        if loss.numel() != 1:
            raise ValueError("f must return a single element")
        losses.append(loss.item())
        if len(losses) > steps:
            return x, losses
        (grad,) = torch.autograd.grad(loss, leaf)
        if torch.linalg.vector_norm(grad) <= tol:
            return x, losses
        total = total + grad
        x = x - lr * total
