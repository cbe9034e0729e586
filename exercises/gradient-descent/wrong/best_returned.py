# fails: 3
# message: not the best one
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0:
        raise ValueError("lr must be positive")
    if steps < 0:
        raise ValueError("steps must not be negative")
    x = x0.detach().clone()
    losses = []
    for i in range(steps + 1):
        x = x.detach().requires_grad_(True)
        loss = f(x)
        if loss.numel() > 1:
            raise ValueError("f must return one element")
        losses.append(loss.item())
        if losses[-1] == min(losses):
            best = x.detach()
        if i == steps:
            break
        (g,) = torch.autograd.grad(loss, x, torch.ones_like(loss))
        if g.norm() <= tol:
            break
        x = x - lr * g
    return best, losses
