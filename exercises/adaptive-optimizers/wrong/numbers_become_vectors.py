# fails: 7
# message: () became (1,)
import torch


def _check(p, g, lr, eps, *rates):
    if p.shape != g.shape or lr < 0 or eps < 0 or not all(0 <= r < 1 for r in rates):
        raise ValueError("bad arguments")
    return torch.atleast_1d(p.detach()), torch.atleast_1d(g.detach())


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    p, g = _check(param, grad, lr, eps)
    s = state.get("s", 0) + g * g
    return p - lr * g / (s.sqrt() + eps), {"s": s}


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    p, g = _check(param, grad, lr, eps, alpha)
    s = alpha * state.get("s", torch.zeros_like(p)) + (1 - alpha) * g * g
    return p - lr * g / (s.sqrt() + eps), {"s": s}


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    p, g = _check(param, grad, lr, eps, *betas)
    b1, b2 = betas
    t = state.get("t", 0) + 1
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * g
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * g * g
    return p - lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps), {"t": t, "m": m, "v": v}
