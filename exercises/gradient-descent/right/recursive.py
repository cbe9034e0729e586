from torch import Tensor, autograd


class NotAScalar(ValueError):
    pass


def gradient_descent(f, x0: Tensor, lr: float, steps: int, tol: float = 0.0) -> tuple[Tensor, list[float]]:
    if lr <= 0 or steps < 0:
        raise ValueError("lr > 0 and steps >= 0 are needed")

    def go(x, left):
        x = x.detach().requires_grad_()
        y = f(x)
        if y.numel() != 1:
            raise NotAScalar(tuple(y.shape))
        here = [float(y.detach())]
        gradient = autograd.grad(y.sum(), [x])[0]
        if left == 0 or (gradient**2).sum() ** 0.5 <= tol:
            return x.detach(), here
        end, rest = go(x - lr * gradient, left - 1)
        return end, here + rest

    return go(x0.clone(), steps)
