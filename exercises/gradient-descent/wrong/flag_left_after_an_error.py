# fails: 9
# message: requires_grad flag
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0 or steps < 0:
        raise ValueError("lr > 0, steps >= 0")
    flag = x0.requires_grad
    x0.requires_grad_(True)
    x, losses = x0.clone(), []
    for k in range(steps + 1):
        x = x.detach().requires_grad_()
        loss = f(x)
        if loss.numel() > 1:
            raise ValueError("f must return one element")
        losses.append(loss.item())
        if k == steps:
            break
        (g,) = torch.autograd.grad(loss.sum(), x)
        if g.norm() <= tol:
            break
        x = (x - lr * g).detach()
    x0.requires_grad_(flag)
    return x.detach(), losses
