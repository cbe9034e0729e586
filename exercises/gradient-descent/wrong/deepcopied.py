# fails: 10
# message: deepcopy
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0:
        raise ValueError("lr must be positive")
    if steps < 0:
        raise ValueError("steps must not be negative")
    import copy

    x = copy.deepcopy(x0)
    losses = []
    for i in range(steps + 1):
        x = x.detach().requires_grad_(True)
        loss = f(x)
        if loss.numel() > 1:
            raise ValueError("f must return one element")
        losses.append(loss.item())
        if i == steps:
            break
        (g,) = torch.autograd.grad(loss, x, torch.ones_like(loss))
        if g.norm() <= tol:
            break
        x = x - lr * g
    return x.detach(), losses
