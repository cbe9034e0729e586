import torch


def gradient_descent(f, x0, lr, steps, tol=0.0):
    if not lr > 0:
        raise ValueError("lr must be positive")
    if steps < 0:
        raise ValueError("steps must be at least 0")
    x = x0.detach().clone().requires_grad_(True)
    loss = _value(f, x)
    losses = [loss.item()]
    for _ in range(steps):
        x.grad = None
        loss.backward(inputs=[x])
        if x.grad.norm().item() <= tol:
            break
        with torch.no_grad():
            x -= lr * x.grad
        loss = _value(f, x)
        losses.append(loss.item())
    return x.detach(), losses


def _value(f, x):
    loss = f(x)
    if loss.numel() > 1:
        raise ValueError(f"f returned {loss.numel()} elements")
    return loss
