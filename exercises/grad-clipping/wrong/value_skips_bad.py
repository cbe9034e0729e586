# fails: 8
# message: Infinite elements
import torch


def grads_of(parameters):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def clip_grad_norm(parameters, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    grads = grads_of(parameters)
    total = torch.tensor(0.0)
    for g in grads:
        g = g.detach()
        if g.dtype in (torch.float16, torch.bfloat16):
            g = g.float()
        total = total.to(g.device) + (g * g).sum()
    norm = total.sqrt()
    if torch.isfinite(norm) and norm > max_norm:
        with torch.no_grad():
            for g in grads:
                g.mul_(max_norm / norm)
    return norm


def clip_grad_value(parameters, clip_value):
    if clip_value <= 0:
        raise ValueError("clip_value must be positive")
    with torch.no_grad():
        for g in grads_of(parameters):
            if g.isfinite().all():
                g.clamp_(-clip_value, clip_value)
