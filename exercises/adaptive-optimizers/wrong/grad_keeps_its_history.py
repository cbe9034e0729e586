# fails: 7
# message: has a history
from typing import NamedTuple
import torch


class Memory(NamedTuple):
    t: int
    first: torch.Tensor
    second: torch.Tensor


def _check(p, g, lr, eps, *rates):
    if p.shape != g.shape:
        raise ValueError("shape")
    if not (lr >= 0 and eps >= 0):
        raise ValueError("lr/eps")
    for r in rates:
        if not 0 <= r < 1:
            raise ValueError("rate")


def _recall(state, p):
    zero = torch.zeros_like(p, requires_grad=False)
    return state.get("memory", Memory(0, zero, zero))


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    _check(param, grad, lr, eps)
    with torch.no_grad():
        p, g = param.detach(), grad.detach()
        m = _recall(state, p)
        s = torch.addcmul(m.second, g, g)
        new = (
            torch.addcdiv(p, g, s.sqrt() + eps, value=-lr)
            if eps or s.all()
            else p - lr * torch.nan_to_num(g / s.sqrt())
        )
    return new, {"memory": Memory(m.t + 1, m.first, s)}


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    _check(param, grad, lr, eps, alpha)
    if True:
        p, g = param.detach(), grad
        m = _recall(state, p)
        s = alpha * m.second + (1 - alpha) * g * g
        new = p - lr * g / (torch.sqrt(s) + eps)
    return new, {"memory": Memory(m.t + 1, m.first, s)}


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    b1, b2 = betas
    _check(param, grad, lr, eps, b1, b2)
    with torch.no_grad():
        p, g = param.detach(), grad.detach()
        m = _recall(state, p)
        t = m.t + 1
        a = b1 * m.first + (1 - b1) * g
        v = b2 * m.second + (1 - b2) * g * g
        new = p - lr * (a / (1 - b1**t)) / (torch.sqrt(v / (1 - b2**t)) + eps)
    return new, {"memory": Memory(t, a, v)}
