import torch


def _validate(param, grad, lr, eps, rates=()):
    errors = []
    if grad.size() != param.size():
        errors.append("size")
    if lr < 0:
        errors.append("lr")
    if eps < 0:
        errors.append("eps")
    for rate in rates:
        if rate < 0 or rate >= 1:
            errors.append("rate")
    if errors:
        raise ValueError(" ".join(errors))


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    _validate(param, grad, lr, eps)
    out, g = param.data.clone(), grad.data
    total = g * g
    if state != {}:
        total = total + state["G"]
    out -= lr * g / (total**0.5 + eps)
    return out, {"G": total}


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    _validate(param, grad, lr, eps, [alpha])
    out, g = param.data.clone(), grad.data
    v = torch.lerp(state.get("v", g.new_zeros(g.shape)), g * g, 1 - alpha)
    out.sub_(g.div(v.sqrt().add(eps)).mul(lr))
    return out, {"v": v}


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    _validate(param, grad, lr, eps, betas)
    state = {**{"t": 0, "m": torch.zeros_like(param.data), "v": torch.zeros_like(param.data)}, **state}
    g = grad.data
    t = state["t"] + 1
    m = betas[0] * state["m"] + (1 - betas[0]) * g
    v = betas[1] * state["v"] + (1 - betas[1]) * g.abs().square()
    scale = (1 - betas[1] ** t) ** 0.5
    update = (m / (1 - betas[0] ** t)) * scale / (v.sqrt() + eps * scale)
    return param.data - lr * update, {"t": t, "m": m, "v": v}
