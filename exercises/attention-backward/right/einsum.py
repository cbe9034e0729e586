"""Einsum, dict caches, maximum and sum kept apart; LayerNorm from sums."""

import torch


def _need(condition, text):
    if not condition:
        raise ValueError(text)


@torch.no_grad()
def linear_forward(x, weight, bias=None):
    _need(x.dim() >= 1 and weight.dim() == 2 and x.size(-1) == weight.size(-1), "x and weight")
    y = torch.nn.functional.linear(x, weight, bias)
    return y, {"x": x, "weight": weight, "bias": bias}


@torch.no_grad()
def linear_backward(grad_out, cache):
    x, w = cache["x"], cache["weight"]
    _need(grad_out.shape == x.shape[:-1] + w.shape[:1], "grad_out")
    dx = torch.einsum("...o,oi->...i", grad_out, w)
    dw = torch.einsum("...o,...i->oi", grad_out, x)
    db = None
    if cache["bias"] is not None:
        db = torch.einsum("...o->o", grad_out)
        db = db.clone()
    return dx, dw, db


@torch.no_grad()
def layer_norm_forward(x, weight, bias, eps=1e-5):
    _need(tuple(x.shape[-1:]) == tuple(weight.shape), "x and weight")
    var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    rstd = (var + eps) ** -0.5
    return torch.addcmul(bias, (x - mean) * rstd, weight), {
        "x": x,
        "mean": mean,
        "rstd": rstd,
        "weight": weight,
    }


@torch.no_grad()
def layer_norm_backward(grad_out, cache):
    x, mean, rstd, weight = cache["x"], cache["mean"], cache["rstd"], cache["weight"]
    _need(grad_out.shape == x.shape, "grad_out")
    n = x.shape[-1]
    hat = (x - mean) * rstd
    g = grad_out * weight
    dx = rstd / n * (n * g - g.sum(-1, True) - hat * (g * hat).sum(-1, True))
    rows = grad_out.reshape(-1, n)
    return dx, (rows * hat.reshape(-1, n)).sum(0), rows.sum(dim=0)


@torch.no_grad()
def attention_forward(q, k, v, mask=None, scale=None):
    _need(q.shape[-1] == k.shape[-1], "q and k")
    _need(k.shape[-2] == v.shape[-2], "k and v")
    _need(mask is None or mask.dtype == torch.bool, "mask")
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.einsum("bhsd,bhtd->bhst", q * factor, k)
    if mask is not None:
        scores = torch.where(mask, scores, -1e300 if q.dtype == torch.float64 else -1e30)
    top = scores.amax(-1)
    weights = torch.exp(scores - top[..., None])
    if mask is not None:
        weights = weights * mask
    total = weights.sum(-1)
    total = torch.where(total > 0, total, 1.0)
    out = torch.einsum("bhst,bhte->bhse", weights, v) / total[..., None]
    return out, {
        "q": q,
        "k": k,
        "v": v,
        "mask": mask,
        "factor": factor,
        "top": top,
        "total": total,
        "out": out,
    }


@torch.no_grad()
def attention_backward(grad_out, cache):
    q, k, v, mask, factor = (cache[n] for n in ("q", "k", "v", "mask", "factor"))
    _need(grad_out.shape == cache["out"].shape, "grad_out")
    scores = torch.einsum("bhsd,bhtd->bhst", q * factor, k)
    if mask is not None:
        scores = torch.where(mask, scores, -1e300 if q.dtype == torch.float64 else -1e30)
    p = torch.exp(scores - cache["top"][..., None]) / cache["total"][..., None]
    if mask is not None:
        p = p * mask
    dv = torch.einsum("bhst,bhse->bhte", p, grad_out)
    dp = torch.einsum("bhse,bhte->bhst", grad_out, v)
    ds = p * (dp - torch.einsum("bhse,bhse->bhs", grad_out, cache["out"])[..., None])
    return (
        torch.einsum("bhst,bhtd->bhsd", ds, k) * factor,
        torch.einsum("bhst,bhsd->bhtd", ds, q * factor),
        dv,
    )
