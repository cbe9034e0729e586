import torch
from torch import Tensor

# each primitive with its own backward


def matmul_backward(g, a, b):
    return g @ b.transpose(-2, -1), a.transpose(-2, -1) @ g


def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.size(i) != 1:
            g = g.sum(i, keepdim=True)
    return g


def softmax_rows(s, mask):
    """Softmax whose masked entries are exactly 0, also in empty rows."""
    if mask is None:
        return s.softmax(-1)
    low = torch.finfo(s.dtype).min
    return torch.where(mask, s, low).softmax(-1) * mask


def linear_forward(x: Tensor, weight: Tensor, bias=None):
    with torch.inference_mode():
        if x.shape[-1:] != weight.shape[1:]:
            raise ValueError("linear")
        y = torch.tensordot(x, weight, dims=([-1], [1]))
        return (y if bias is None else y.add_(bias)), (
            x,
            weight,
            None if bias is None else bias.shape,
            x.shape,
        )


def linear_backward(grad_out, cache):
    with torch.inference_mode():
        x, weight, bshape, _ = cache
        if grad_out.shape != (*x.shape[:-1], weight.shape[0]):
            raise ValueError("linear grad_out")
        g2 = grad_out.reshape(-1, weight.shape[0])
        dx, dwt = matmul_backward(g2, x.reshape(-1, x.shape[-1]), weight.mT)
        db = None if bshape is None else torch.ones(len(g2), dtype=g2.dtype, device=g2.device) @ g2
        return dx.reshape(x.shape), dwt.mT, db


def layer_norm_forward(x, weight, bias, eps=1e-5):
    with torch.inference_mode():
        if tuple(weight.shape) != (x.shape[-1],):
            raise ValueError("ln")
        c = x - x.mean(-1, keepdim=True)
        std = (c.square().mean(-1, keepdim=True) + eps).sqrt()
        return torch.addcmul(bias, c / std, weight), (c, std, weight, bias.shape)


def layer_norm_backward(grad_out, cache):
    with torch.inference_mode():
        c, std, weight, bshape = cache
        if grad_out.shape != c.shape:
            raise ValueError("ln grad_out")
        n = c.shape[-1]
        db = unbroadcast(grad_out, bshape) + 0
        dw = unbroadcast(grad_out * c / std, weight.shape)
        dn = grad_out * weight
        dc = dn / std
        dstd = (dn * -c / std**2).sum(-1, keepdim=True)
        dvar = dstd / (2 * std)
        dc = dc + dvar * 2 * c / n
        dx = dc - dc.mean(-1, keepdim=True)
        return dx, dw, db


def attention_forward(q, k, v, mask=None, scale=None):
    with torch.inference_mode():
        if q.shape[3] != k.shape[3] or k.shape[2] != v.shape[2]:
            raise ValueError("attention")
        if mask is not None and mask.dtype != torch.bool:
            raise ValueError("attention mask")
        f = q.shape[3] ** -0.5 if scale is None else float(scale)
        p = softmax_rows((q * f) @ k.transpose(2, 3), mask)
        out = p @ v
        return out, (q, k, v, mask, f, out.shape)


def attention_backward(grad_out, cache):
    with torch.inference_mode():
        q, k, v, mask, f, shape = cache
        if grad_out.shape != shape:
            raise ValueError("attention grad_out")
        qs = q * f
        p = softmax_rows(qs @ k.mT, mask)
        dp, dv = matmul_backward(grad_out, p, v)
        ds = p * dp
        ds = ds - p * ds.sum(-1, keepdim=True)
        dqs, dkt = matmul_backward(ds, qs, k.mT)
        return dqs * f, dkt.mT, dv
