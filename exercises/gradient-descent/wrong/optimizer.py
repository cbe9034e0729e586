# fails: 8
# message: Write the update yourself
import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if lr <= 0 or steps < 0:
        raise ValueError("bad arguments")
    x = x0.detach().clone().requires_grad_()
    optimizer = torch.optim.SGD([x], lr=lr)
    losses = []
    for i in range(steps + 1):
        loss = f(x)
        if loss.numel() != 1:
            raise ValueError("f must return one element")
        losses.append(loss.item())
        (x.grad,) = torch.autograd.grad(loss, x)
        if i == steps or x.grad.norm() <= tol:
            break
        optimizer.step()
    return x.detach(), losses
