# fails: 3
# message: only an exactly zero gradient
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0 or steps < 0:
        raise ValueError("lr > 0, steps >= 0")
    x, losses = x0.detach().clone(), []
    for k in range(steps + 1):
        x.requires_grad_()
        loss = f(x)
        if loss.numel() > 1:
            raise ValueError("f must return one element")
        losses.append(loss.item())
        if k == steps:
            break
        (g,) = torch.autograd.grad(loss.sum(), x)
        if g.float().norm().item() <= tol:
            break
        x = (x - lr * g).detach()
    return x.detach(), losses
