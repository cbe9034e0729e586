# fails: 10
# message: of this call
import torch


def _check(param, grad, lr, eps, *rates):
    if param.shape != grad.shape:
        raise ValueError("shapes differ")
    if lr < 0:
        raise ValueError("lr")
    if eps < 0:
        raise ValueError("eps")
    for r in rates:
        if r < 0 or r >= 1:
            raise ValueError("rate")


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    _check(param, grad, lr, eps)
    with torch.no_grad():
        if "sum" in state:
            s = state["sum"] + grad * grad
        else:
            s = grad * grad
        new = param - lr * grad / (torch.sqrt(s) + eps)
    return new, {"sum": s}


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    _check(param, grad, lr, eps, alpha)
    with torch.no_grad():
        s = state.get("s", torch.zeros_like(param))
        s = alpha * s + (1 - alpha) * grad * grad
        new = param - lr * grad / (torch.sqrt(s) + eps)
    return new, {"s": s}


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    _check(param, grad, lr, eps, *betas)
    b1, b2 = betas
    with torch.no_grad():
        if not state:
            m = torch.zeros_like(param)
            v = torch.zeros_like(param)
            t = 0
        else:
            m, v, t = state["m"], state["v"], state["t"]
            b1, b2 = state["betas"]
        t = t + 1
        m = b1 * m + (1 - b1) * grad
        v = b2 * v + (1 - b2) * grad * grad
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        new = param - lr * m_hat / (torch.sqrt(v_hat) + eps)
    return new, {"m": m, "v": v, "t": t, "betas": betas}
