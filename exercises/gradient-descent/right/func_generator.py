from typing import Iterator

import torch


def _scalar(f):
    def g(x):
        value = f(x)
        if value.shape.numel() != 1:
            raise ValueError(f"f returned shape {tuple(value.shape)}")
        return value.squeeze() if value.dim() else value

    return g


def _walk(f, x0, lr, steps, tol) -> Iterator[tuple[torch.Tensor, float]]:
    x = torch.empty_like(x0, requires_grad=False).copy_(x0.detach())
    gradient = torch.func.grad_and_value(_scalar(f))
    for _ in range(steps):
        slope, value = gradient(x)
        yield x, float(value)
        if torch.linalg.vector_norm(slope) <= tol:
            return
        x = torch.add(x, slope, alpha=-lr)
    yield x, float(_scalar(f)(x).detach())


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if not lr > 0:
        raise ValueError("lr must be positive")
    if steps < 0:
        raise ValueError("steps")
    path = [*_walk(f, x0, lr, steps, tol)]
    return path[-1][0].detach(), [loss for _, loss in path]
