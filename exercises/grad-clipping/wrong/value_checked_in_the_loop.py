# fails: 9
# message: nothing to clip
import torch


def _grads(parameters):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


@torch.no_grad()
def clip_grad_norm(parameters, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    grads = _grads(parameters)
    if not grads:
        return torch.tensor(0.0)
    wide = [g.float() if g.dtype in (torch.float16, torch.bfloat16) else g for g in grads]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(w) for w in wide]))
    if torch.isfinite(norm) and norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm


@torch.no_grad()
def clip_grad_value(parameters, clip_value):
    for g in _grads(parameters):
        if clip_value <= 0:
            raise ValueError("clip_value")
        g.clamp_(-clip_value, clip_value)
