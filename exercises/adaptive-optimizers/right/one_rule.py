import torch


class BadArgument(ValueError):
    pass


def need(ok, what):
    if not ok:
        raise BadArgument(what)


def common(param, grad, lr, eps):
    need(tuple(param.shape) == tuple(grad.shape), "shapes differ")
    need(lr >= 0, "lr")
    need(eps >= 0, "eps")


def move(param, numerator, square, lr, eps):
    with torch.no_grad():
        return param - lr * numerator / (torch.sqrt(square) + eps)


def ema(old, new, beta):
    return (1 - beta) * new if old is None else beta * old + (1 - beta) * new


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    common(param, grad, lr, eps)
    history = [*state.get("squares", []), grad.detach().square()]
    total = torch.stack(history).sum(0)
    return move(param, grad, total, lr, eps), {"squares": history}


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    common(param, grad, lr, eps)
    need(0 <= alpha < 1, "alpha")
    s = ema(state.get(0), grad.detach().pow(2), alpha)
    return move(param, grad, s, lr, eps), {0: s}


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    common(param, grad, lr, eps)
    need(0 <= betas[0] < 1 and 0 <= betas[1] < 1, "betas")
    g = grad.detach()
    m, v, p1, p2 = state.get("all", (None, None, 1.0, 1.0))
    m, v, p1, p2 = ema(m, g, betas[0]), ema(v, g * g, betas[1]), p1 * betas[0], p2 * betas[1]
    return move(param, m / (1 - p1), v / (1 - p2), lr, eps), {"all": (m, v, p1, p2)}
