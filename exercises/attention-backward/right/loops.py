"""Row by row, with explicit Jacobians."""

import torch


def linear_forward(x, weight, bias=None):
    x, weight = x.detach(), weight.detach()
    if weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise ValueError("linear: shapes")
    y = torch.einsum("...i,oi->...o", x, weight)
    if bias is not None:
        y = y + bias.detach()
    return y, [x, weight, None if bias is None else tuple(bias.shape), tuple(y.shape)]


def linear_backward(grad_out, cache):
    x, weight, bias_shape, shape = cache
    if tuple(grad_out.shape) != shape:
        raise ValueError("grad_out")
    grad_out = grad_out.detach()
    out, inner = weight.shape
    grad_weight = torch.zeros_like(weight)
    grad_bias = weight.new_zeros(out)
    for row, g in zip(x.reshape(-1, inner), grad_out.reshape(-1, out), strict=True):
        grad_weight += torch.outer(g, row)
        grad_bias += g
    return (grad_out[..., None, :] @ weight).squeeze(-2), grad_weight, grad_bias if bias_shape else None


def layer_norm_forward(x, weight, bias, eps=1e-5):
    x, weight, bias = x.detach(), weight.detach(), bias.detach()
    if weight.ndim != 1 or x.shape[-1] != weight.numel():
        raise ValueError("layer norm: shapes")
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / (var + eps) ** 0.5 * weight + bias, {"x": x, "w": weight, "eps": eps}


def layer_norm_backward(grad_out, cache):
    x, weight, eps = cache["x"], cache["w"], cache["eps"]
    if grad_out.shape != x.shape:
        raise ValueError("grad_out")
    d = x.shape[-1]
    grad_x, grad_w, grad_b = [], torch.zeros_like(weight), torch.zeros_like(weight)
    eye = torch.eye(d, dtype=x.dtype, device=x.device)
    for row, g in zip(x.reshape(-1, d), grad_out.detach().reshape(-1, d), strict=True):
        std = (((row - row.mean()) ** 2).mean() + eps) ** 0.5
        hat = (row - row.mean()) / std
        jacobian = (eye - 1 / d - torch.outer(hat, hat) / d) / std
        grad_x.append(jacobian @ (weight * g))
        grad_w += g * hat
        grad_b += g
    return torch.stack(grad_x).reshape(x.shape), grad_w, grad_b


def row_of(q, k, mask, scale, b, h, i):
    scores = scale * (k[b, h] @ q[b, h, i])
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask[b, h, i]
    p = torch.zeros_like(scores)
    if bool(allowed.any()):
        p[allowed] = torch.softmax(scores[allowed], 0)
    return p


def attention_forward(q, k, v, mask=None, scale=None):
    q, k, v = q.detach(), k.detach(), v.detach()
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError("attention: shapes")
    B, H, S, D = q.shape
    if mask is not None:
        if mask.dtype is not torch.bool:
            raise ValueError("mask")
        mask = mask.expand(B, H, S, k.shape[2])
    scale = D**-0.5 if scale is None else scale
    out = q.new_zeros(B, H, S, v.shape[-1])
    for b in range(B):
        for h in range(H):
            for i in range(S):
                out[b, h, i] = row_of(q, k, mask, scale, b, h, i) @ v[b, h]
    return out, (q, k, v, mask, scale)


def attention_backward(grad_out, cache):
    q, k, v, mask, scale = cache
    if grad_out.shape != (*q.shape[:3], v.shape[-1]):
        raise ValueError("grad_out")
    grad_out = grad_out.detach()
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    dq, dk, dv = (torch.zeros(t.shape, dtype=t.dtype, device=t.device) for t in (dq, dk, dv))
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for i in range(q.shape[2]):
                p, g = row_of(q, k, mask, scale, b, h, i), grad_out[b, h, i]
                dv[b, h] += torch.outer(p, g)
                dp = v[b, h] @ g
                ds = p * dp - p * torch.dot(p, dp)
                dq[b, h, i] = scale * (ds @ k[b, h])
                dk[b, h] += scale * torch.outer(ds, q[b, h, i])
    return dq, dk, dv
