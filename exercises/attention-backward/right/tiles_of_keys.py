import math

import torch
import torch.nn.functional as F

NEG = float("-inf")


def plain(f):
    def wrapped(*args, **kw):
        with torch.no_grad():
            return f(*args, **kw)

    return wrapped


@plain
def linear_forward(x, weight, bias=None):
    if x.ndim == 0 or x.size(-1) != weight.size(1):
        raise ValueError(f"{tuple(x.shape)} does not fit {tuple(weight.shape)}")
    return F.linear(x, weight, bias), [x, weight, bias is None, weight.size(0), x.shape]


@plain
def linear_backward(grad_out, cache):
    x, weight, no_bias, o, shape = cache
    if grad_out.shape != torch.Size([*shape[:-1], o]):
        raise ValueError("grad_out has the wrong shape")
    dx = torch.einsum("...o,oi->...i", grad_out, weight)
    dw = torch.einsum("...o,...i->oi", grad_out, x)
    db = None if no_bias else torch.einsum("...o->o", grad_out).clone()
    return dx.contiguous(), dw.contiguous(), db


@plain
def layer_norm_forward(x, weight, bias, eps=1e-5):
    if weight.ndim != 1 or x.ndim < 1 or x.size(-1) != weight.numel():
        raise ValueError("LayerNorm: x and weight")
    var, mean = torch.var_mean(x.double(), dim=-1, correction=0, keepdim=True)
    y = (x.double() - mean) / torch.sqrt(var + eps) * weight.double() + bias.double()
    return y.to(x.dtype), [x, weight, bias, mean, var, eps]


@plain
def layer_norm_backward(grad_out, cache):
    x, weight, bias, mean, var, eps = cache
    if grad_out.shape != x.shape:
        raise ValueError("LayerNorm: grad_out")
    n = x.size(-1)
    g, xd = grad_out.double(), x.double()
    s = torch.sqrt(var + eps)
    gh = g * weight.double()
    dvar = (gh * (xd - mean)).sum(-1, keepdim=True) * (-0.5) / s**3
    dmean = -gh.sum(-1, keepdim=True) / s
    dx = gh / s + 2 * dvar * (xd - mean) / n + dmean / n
    dw = (g * (xd - mean) / s).reshape(-1, n).sum(0)
    db = g.reshape(-1, n).sum(0)
    return dx.to(x.dtype), dw.to(weight.dtype), db.to(bias.dtype)


def tile(q, k, mask, scale, a, b):
    s = torch.matmul(q, k[..., a:b, :].mT) * scale
    if mask is not None:
        m = mask if mask.size(-1) == 1 else mask[..., a:b]
        s = torch.where(m, s, s.new_full((), NEG))
    return s


STEP = 5


@plain
def attention_forward(q, k, v, mask=None, scale=None):
    if q.size(-1) != k.size(-1):
        raise ValueError("q and k differ in D")
    if k.size(-2) != v.size(-2):
        raise ValueError("k and v differ in T")
    if mask is not None:
        if mask.dtype != torch.bool:
            raise ValueError("mask must be bool")
        mask = mask.view((1,) * (4 - mask.dim()) + mask.shape) if mask.dim() < 4 else mask
    scale = 1.0 / math.sqrt(q.size(-1)) if scale is None else scale
    shape = q.shape[:-1] + (1,)
    m = q.new_full(shape, NEG)
    l = q.new_zeros(shape)
    acc = q.new_zeros(q.shape[:-1] + v.shape[-1:])
    for a in range(0, k.size(-2), STEP):
        s = tile(q, k, mask, scale, a, a + STEP)
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        safe = torch.where(new == NEG, torch.zeros_like(new), new)
        p = torch.exp(s - safe)
        r = torch.exp(m - safe)
        l = l * r + p.sum(-1, keepdim=True)
        acc = acc * r + p @ v[..., a : a + STEP, :]
        m = new
    out = torch.where(l > 0, acc / l, torch.zeros_like(acc))
    return out, {"q": q, "k": k, "v": v, "mask": mask, "scale": scale, "m": m, "l": l, "out": out}


@plain
def attention_backward(grad_out, cache):
    q, k, v, mask, scale, m, l, out = cache.values()
    if grad_out.shape != out.shape:
        raise ValueError("grad_out")
    dq = torch.zeros(q.shape, dtype=q.dtype, device=q.device)
    dk, dv = [], []
    safe = m.nan_to_num(neginf=0.0)
    D = (grad_out * out).sum(-1, keepdim=True)
    for a in range(0, k.size(-2), STEP):
        p = torch.exp(tile(q, k, mask, scale, a, a + STEP) - safe) / l.clamp_min(
            1e-300 if l.dtype == torch.float64 else 1e-30
        )
        dv.append(p.mT @ grad_out)
        ds = p * (grad_out @ v[..., a : a + STEP, :].mT - D) * scale
        dk.append(ds.mT @ q)
        dq += ds @ k[..., a : a + STEP, :]
    return dq, torch.cat(dk, -2), torch.cat(dv, -2)
