import math

import torch


def adagrad_step(param, grad, state, lr=1e-2, eps=1e-10):
    if param.shape != grad.shape:
        raise ValueError("shape")
    if lr < 0.0:
        raise ValueError("lr")
    if eps < 0.0:
        raise ValueError("eps")
    p, g = param.detach(), grad.detach()
    step = state["step"] + 1 if state else 1
    acc = state["sum"].clone() if state else torch.zeros_like(p)
    acc.addcmul_(g, g, value=1)
    return p.addcdiv(g, acc.sqrt().add_(eps), value=-lr), {"step": step, "sum": acc}


def rmsprop_step(param, grad, state, lr=1e-2, alpha=0.99, eps=1e-8):
    if param.shape != grad.shape:
        raise ValueError("shape")
    if lr < 0.0 or eps < 0.0 or not 0.0 <= alpha < 1.0:
        raise ValueError("hyperparameter")
    p, g = param.detach(), grad.detach()
    avg = state["square_avg"].clone() if "square_avg" in state else torch.zeros_like(p)
    avg.mul_(alpha).addcmul_(g, g, value=1 - alpha)
    return torch.addcdiv(p, g, avg.sqrt().add_(eps), value=-lr), dict(state, square_avg=avg)


def adam_step(param, grad, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    if param.shape != grad.shape:
        raise ValueError("shape")
    if lr < 0.0 or eps < 0.0 or any(not 0.0 <= b < 1.0 for b in betas):
        raise ValueError("hyperparameter")
    p, g = param.detach(), grad.detach()
    b1, b2 = betas
    if not state:
        state = {"step": torch.tensor(0.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    new = {k: v.clone() for k, v in state.items()}
    new["step"] += 1
    t = new["step"].item()
    new["exp_avg"].lerp_(g, 1 - b1)
    new["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
    denom = (new["exp_avg_sq"].sqrt() / math.sqrt(1 - b2**t)).add_(eps)
    return p.addcdiv(new["exp_avg"], denom, value=-lr / (1 - b1**t)), new
