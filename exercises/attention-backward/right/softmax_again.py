"""One class per layer behind the functions; the softmax is computed again in the backward; in-place on own tensors."""

import torch
from torch.nn import functional as F


class Linear:
    @staticmethod
    def forward(x, weight, bias):
        rows = x.reshape(-1, x.shape[-1])
        y = rows.mm(weight.t())
        if bias is not None:
            y.add_(bias)
        return y.reshape(*x.shape[:-1], weight.shape[0])

    @staticmethod
    def backward(g, x, weight):
        g2, x2 = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        return g2.mm(weight).reshape(x.shape), g2.t().mm(x2), g2.sum(0)


def linear_forward(x, weight, bias=None):
    with torch.no_grad():
        if x.shape[-1] != weight.shape[-1]:
            raise ValueError(f"{tuple(x.shape)} and {tuple(weight.shape)}")
        y = Linear.forward(x, weight, bias)
    return y, (x, weight, bias, y.shape)


def linear_backward(grad_out, cache):
    x, weight, bias, shape = cache
    if grad_out.shape != shape:
        raise ValueError(f"grad_out must be {tuple(shape)}")
    with torch.no_grad():
        dx, dw, db = Linear.backward(grad_out, x, weight)
    return dx, dw, (db if bias is not None else None)


def layer_norm_forward(x, weight, bias, eps=1e-5):
    with torch.no_grad():
        if list(weight.shape) != [x.shape[-1]]:
            raise ValueError("weight")
        mean = x.sum(-1, keepdim=True) / x.shape[-1]
        hat = x - mean
        std = torch.sqrt(hat.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps)
        hat.div_(std)
        y = hat * weight
        y += bias
    return y, [hat, std, weight.detach()]


def layer_norm_backward(grad_out, cache):
    hat, std, weight = cache
    if grad_out.shape != hat.shape:
        raise ValueError("grad_out")
    with torch.no_grad():
        flat = grad_out.reshape(-1, hat.shape[-1])
        dw = (flat * hat.reshape(flat.shape)).sum(0)
        db = flat.sum(0)
        dy = grad_out * weight
        dx = dy.clone()
        dx -= dy.mean(-1, keepdim=True)
        dx -= hat * torch.mean(dy * hat, dim=-1, keepdim=True)
        dx /= std
    return dx, dw, db


def _weights(q, k, mask, scale):
    scores = (q @ k.mT).mul_(scale)
    if mask is None:
        return F.softmax(scores, dim=-1)
    empty = ~mask.any(-1, keepdim=True)
    p = F.softmax(scores.masked_fill(~(mask | empty), float("-inf")), dim=-1)
    return torch.where(empty, torch.zeros((), dtype=p.dtype, device=p.device), p)


def attention_forward(q, k, v, mask=None, scale=None):
    with torch.no_grad():
        if q.shape[-1] != k.shape[-1] or v.shape[-2] != k.shape[-2]:
            raise ValueError("shapes")
        if mask is not None:
            if mask.dtype != torch.bool:
                raise ValueError("mask must be bool")
            mask = mask.broadcast_to(*q.shape[:3], k.shape[2]).contiguous()
        scale = 1.0 / q.shape[-1] ** 0.5 if scale is None else float(scale)
        out = _weights(q, k, mask, scale) @ v
    return out, (q, k, v, mask, scale, out.shape)


def attention_backward(grad_out, cache):
    q, k, v, mask, scale, shape = cache
    if grad_out.shape != shape:
        raise ValueError("grad_out")
    with torch.no_grad():
        p = _weights(q, k, mask, scale)
        dp = grad_out @ v.mT
        dp -= (p * dp).sum(-1, keepdim=True)
        ds = dp.mul_(p).mul_(scale)
        return ds @ k, ds.mT @ q, p.mT @ grad_out
