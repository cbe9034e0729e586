import math

import torch

LOG2E = math.log2(math.e)


def prepare(q, k, v, block_q, block_k, scale):
    if block_q < 1:
        raise ValueError("block_q must be at least 1")
    if block_k < 1:
        raise ValueError("block_k must be at least 1")
    try:
        (B, H, Tq, d), (b, h, Tk, e) = q.shape, k.shape
    except ValueError:
        raise ValueError("q and k must be 4-D") from None
    if (B, H, d) != (b, h, e) or v.shape != k.shape:
        raise ValueError("q, k and v do not fit")
    if not Tq or not Tk:
        raise ValueError("empty sequence")
    wide = torch.float64 if q.dtype is torch.float64 else torch.float32
    flat = [t.reshape(B * H, t.shape[2], d) for t in (q, k, v)]
    return flat, wide, (1.0 / math.sqrt(d) if scale is None else float(scale))


def hide(s, i, j, off):
    rows = torch.arange(s.shape[1], device=s.device).add(i + off).unsqueeze(1)
    cols = torch.arange(s.shape[2], device=s.device).add(j)
    return s.masked_fill(cols > rows, -math.inf)


def leaf(qi, i, kj, vj, j, causal, off):
    s = torch.bmm(qi, kj.to(qi.dtype).mT)
    if causal:
        s = hide(s, i, j, off)
    m = s.max(-1, keepdim=True)[0]
    w = torch.exp2((s - torch.where(m.isinf(), torch.zeros_like(m), m)) * LOG2E)
    return m, w.sum(-1, keepdim=True), torch.bmm(w, vj.to(qi.dtype))


def join(x, y):
    m = torch.max(x[0], y[0])
    z = torch.where(m.isinf(), torch.zeros_like(m), m)
    a, b = torch.exp(x[0] - z), torch.exp(y[0] - z)
    return m, a * x[1] + b * y[1], a * x[2] + b * y[2]


def reduce(parts, f):
    if len(parts) == 1:
        return f(parts[0])
    h = len(parts) // 2
    return join(reduce(parts[:h], f), reduce(parts[h:], f))


def flash_forward(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    (q3, k3, v3), wide, c = prepare(q, k, v, block_q, block_k, scale)
    Tq, Tk = q3.shape[1], k3.shape[1]
    off = Tk - Tq
    outs, lses = [], []
    starts = list(range(0, Tk, block_k))
    for i, qi in zip(range(0, Tq, block_q), q3.split(block_q, 1)):
        qi = qi.to(wide) * c
        last = i + qi.shape[1] - 1 + off
        parts = [j for j in starts if not causal or j <= last]
        if not parts:
            outs.append(torch.zeros_like(qi))
            lses.append(qi.new_full(qi.shape[:2], -math.inf))
            continue
        m, l, o = reduce(
            parts, lambda j: leaf(qi, i, k3[:, j : j + block_k], v3[:, j : j + block_k], j, causal, off)
        )
        outs.append(torch.where(l == 0, torch.zeros_like(o), o / l))
        lses.append((m + l.log()).squeeze(-1))
    out = torch.cat(outs, 1).to(q.dtype).view(q.shape)
    return out, torch.cat(lses, 1).view(q.shape[:3])


def flash_backward(grad_out, q, k, v, out, lse, *, causal=False, block_q=64, block_k=64, scale=None):
    (q3, k3, v3), wide, c = prepare(q, k, v, block_q, block_k, scale)
    g3, o3, l3 = grad_out.reshape(q3.shape), out.reshape(q3.shape), lse.reshape(q3.shape[:2])
    Tq, Tk = q3.shape[1], k3.shape[1]
    off = Tk - Tq

    def pieces(i, j):
        qi, gi = q3[:, i : i + block_q].to(wide), g3[:, i : i + block_q].to(wide)
        kj, vj = k3[:, j : j + block_k].to(wide), v3[:, j : j + block_k].to(wide)
        s = torch.bmm(qi, kj.mT) * c
        if causal:
            s = hide(s, i, j, off)
        L = l3[:, i : i + block_q, None].to(wide)
        p = torch.where(torch.isneginf(L), torch.zeros_like(s), torch.exp(s - L))
        D = torch.einsum("nid,nid->ni", gi, o3[:, i : i + block_q].to(wide)).unsqueeze(-1)
        return qi, gi, kj, p, p * (torch.bmm(gi, vj.mT) - D) * c

    dq, dk, dv = (torch.zeros(t.shape, dtype=wide, device=q.device) for t in (q3, k3, v3))
    for j in range(0, Tk, block_k):
        for i in range(0, Tq, block_q):
            if causal and j > min(i + block_q, Tq) - 1 + off:
                continue
            qi, gi, kj, p, ds = pieces(i, j)
            dq[:, i : i + block_q].baddbmm_(ds, kj)
            dk[:, j : j + block_k].baddbmm_(ds.mT, qi)
            dv[:, j : j + block_k].baddbmm_(p.mT, gi)
    return dq.to(q.dtype).view(q.shape), dk.to(k.dtype).view(k.shape), dv.to(v.dtype).view(v.shape)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, block_q, block_k, scale):
        ctx.opts = {"causal": causal, "block_q": block_q, "block_k": block_k, "scale": scale}
        out, lse = flash_forward(q, k, v, **ctx.opts)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad_out):
        return flash_backward(grad_out, *ctx.saved_tensors, **ctx.opts) + (None,) * 4


def flash_attention(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    return Attention.apply(q, k, v, causal, block_q, block_k, scale)
