# fails: 2
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0 or steps < 0:
        raise ValueError("lr/steps")
    x = x0.detach().clone()
    losses = []
    for k in range(steps + 1):
        leaf = x.clone().requires_grad_()
        with torch.enable_grad():
            y = f(leaf)
        if y.dim() > 0 and y.shape != (1,):
            raise ValueError("f")
        losses.append(y.item())
        if k == steps:
            break
        (g,) = torch.autograd.grad(y.reshape(()), leaf)
        if g.norm() <= tol:
            break
        x = x - lr * g
    return x, losses
