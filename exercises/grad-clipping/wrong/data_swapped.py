# fails: 5
# message: other memory
import torch


def _grads(parameters):
    ps = [parameters] if isinstance(parameters, torch.Tensor) else parameters
    return [p.grad for p in ps if p.grad is not None]


@torch.no_grad()
def clip_grad_norm(parameters, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    grads = _grads(parameters)
    if not grads:
        return torch.tensor(0.0)
    norm = (
        torch.stack([g.to(torch.promote_types(g.dtype, torch.float32)).square().sum() for g in grads])
        .sum()
        .sqrt()
    )
    if max_norm < norm < float("inf"):
        for g in grads:
            g.data = g * (max_norm / norm).to(g.dtype)
    return norm


@torch.no_grad()
def clip_grad_value(parameters, clip_value):
    if clip_value <= 0:
        raise ValueError("clip_value")
    for g in _grads(parameters):
        g.clamp_(-clip_value, clip_value)
