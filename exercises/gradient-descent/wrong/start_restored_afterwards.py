# fails: 9
# message: during the run
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0 or steps < 0:
        raise ValueError("lr > 0, steps >= 0")
    x, losses, start = x0.detach(), [], x0.detach().clone()
    for k in range(steps + 1):
        leaf = x.clone().requires_grad_()
        loss = f(leaf)
        if loss.numel() > 1:
            raise ValueError("f must return one element")
        losses.append(loss.item())
        if k == steps:
            break
        (g,) = torch.autograd.grad(loss.sum(), leaf)
        if g.norm() <= tol:
            break
        x.sub_(g, alpha=lr)
    end = x.clone()
    x.copy_(start)
    return end, losses
