import math

import torch


class BadLimit(ValueError):
    pass


def _gradients(parameters):
    if isinstance(parameters, torch.Tensor):
        parameters = iter([parameters])
    for p in parameters:
        if p.grad is not None:
            yield p.grad


def clip_grad_norm(parameters, max_norm):
    if max_norm <= 0:
        raise BadLimit("max_norm")
    grads = list(_gradients(parameters))
    if len(grads) == 0:
        return torch.zeros([])
    wide = torch.float64 if any(g.dtype == torch.float64 for g in grads) else torch.float32
    flat = torch.cat([g.reshape(-1).to(wide) for g in grads])
    norm = torch.sqrt(torch.dot(flat, flat))
    value = float(norm)
    if math.isnan(value) or math.isinf(value) or value <= max_norm:
        return norm
    for g in grads:
        g.copy_(g.to(wide) / value * max_norm)
    return norm


def clip_grad_value(parameters, clip_value):
    if clip_value <= 0:
        raise BadLimit("clip_value")
    for g in _gradients(parameters):
        g[g > clip_value] = clip_value
        g[g < -clip_value] = -clip_value
