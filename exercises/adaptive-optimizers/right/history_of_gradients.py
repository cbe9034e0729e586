import torch

# The state is the history of gradients: a tuple that is never changed.


def _check(param, grad, lr, eps, rates=()):
    if list(param.shape) != list(grad.shape) or lr < 0 or eps < 0 or any(not (0 <= r < 1) for r in rates):
        raise ValueError("bad arguments")


def _weighted(history, rate):
    """sum_i (1 - rate) * rate**(t - i) * h_i in float64"""
    t = len(history)
    w = torch.tensor(
        [(1 - rate) * rate ** (t - 1 - i) for i in range(t)], dtype=torch.float64, device=history[0].device
    )
    return torch.einsum("t,t...->...", w, torch.stack(history))


def _step(param, grad, state, rule):
    g = grad.detach().to(torch.float64, copy=True)
    history = [*state.get("history", ()), g]
    p = param.detach().to(torch.float64)
    return (p - rule(history, g)).to(param.dtype), {"history": tuple(history)}


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    _check(param, grad, lr, eps)
    return _step(
        param, grad, state, lambda h, g: lr * g / (torch.linalg.vector_norm(torch.stack(h), dim=0) + eps)
    )


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    _check(param, grad, lr, eps, [alpha])
    return _step(
        param, grad, state, lambda h, g: lr * g / (_weighted([x * x for x in h], alpha) ** 0.5 + eps)
    )


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    _check(param, grad, lr, eps, betas)

    def rule(h, g):
        t = len(h)
        m = _weighted(h, betas[0]) / (1 - betas[0] ** t)
        v = _weighted([x * x for x in h], betas[1]) / (1 - betas[1] ** t)
        return lr * m / (v.sqrt() + eps)

    return _step(param, grad, state, rule)
