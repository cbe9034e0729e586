from collections.abc import Callable

import torch


def gradient_descent(
    f: Callable[[torch.Tensor], torch.Tensor],
    x0: torch.Tensor,
    lr: float,
    steps: int,
    tol: float = 0.0,
) -> tuple[torch.Tensor, list[float]]:
    if lr <= 0:
        raise ValueError(f"lr = {lr}")
    if steps < 0:
        raise ValueError(f"steps = {steps}")

    def value_and_grad(x: torch.Tensor) -> tuple[float, torch.Tensor]:
        with torch.enable_grad():
            probe = x.clone().requires_grad_(True)
            out = f(probe)
            if out.numel() != 1:
                raise ValueError("f must return one element")
            (gradient,) = torch.autograd.grad(outputs=out.squeeze(), inputs=probe)
        return out.detach().item(), gradient

    x = torch.empty_like(x0, requires_grad=False)
    x.copy_(x0.detach())
    value, gradient = value_and_grad(x)
    losses = [value]
    taken = 0
    while taken < steps and float(torch.sqrt(torch.sum(gradient * gradient))) > tol:
        x = torch.sub(x, gradient, alpha=lr)
        value, gradient = value_and_grad(x)
        losses.append(value)
        taken += 1
    return x, losses
