"""One head and one query tile at a time; keys outside in the backward; a class that holds the running state."""

import math

import torch


class Running:
    """Maximum, sum and output of the keys seen so far, for one tile of queries."""

    def __init__(self, rows, dim, like):
        self.m = like.new_full((rows, 1), -math.inf)
        self.l = like.new_zeros(rows, 1)
        self.o = like.new_zeros(rows, dim)

    def add(self, s, v):
        m = torch.maximum(self.m, s.max(dim=1, keepdim=True).values)
        base = torch.where(torch.isinf(m), torch.zeros_like(m), m)
        old, p = (self.m - base).exp(), (s - base).exp()
        self.l = self.l * old + p.sum(dim=1, keepdim=True)
        self.o = self.o * old + p.mm(v)
        self.m = m

    def result(self):
        empty = self.l == 0
        total = torch.where(empty, torch.ones_like(self.l), self.l)
        return self.o / total, torch.where(empty, torch.full_like(self.m, -math.inf), self.m + total.log())


def validate(q, k, v, block_q, block_k):
    for t in (q, k, v):
        if t.ndim != 4:
            raise ValueError("4-D tensors are needed")
    if min(block_q, block_k) <= 0:
        raise ValueError("block sizes")
    if q.size(0) != k.size(0) or q.size(1) != k.size(1) or q.size(3) != k.size(3) or k.shape != v.shape:
        raise ValueError("shapes")
    if 0 in (q.size(2), k.size(2)):
        raise ValueError("empty")


def scores_of(qi, kj, i, j, shift, scale, causal):
    s = qi.mm(kj.t()) * scale
    if causal:
        for r in range(s.shape[0]):
            first_hidden = i + r + shift + 1 - j
            if first_hidden < s.shape[1]:
                s[r, max(first_hidden, 0) :] = -math.inf
    return s


def flash_forward(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    validate(q, k, v, block_q, block_k)
    acc = torch.float64 if q.dtype == torch.float64 else torch.float32
    scale = q.size(3) ** -0.5 if scale is None else scale
    B, H, Tq, d = q.shape
    Tk = k.size(2)
    out = torch.empty(B, H, Tq, d, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, Tq, dtype=acc, device=q.device)
    for b in range(B):
        for h in range(H):
            for i in range(0, Tq, block_q):
                qi = q[b, h, i : i + block_q].to(acc)
                state = Running(qi.shape[0], d, qi)
                for j in range(0, Tk, block_k):
                    if causal and j > i + qi.shape[0] - 1 + Tk - Tq:
                        break
                    kj, vj = k[b, h, j : j + block_k].to(acc), v[b, h, j : j + block_k].to(acc)
                    state.add(scores_of(qi, kj, i, j, Tk - Tq, scale, causal), vj)
                o, lse_i = state.result()
                out[b, h, i : i + block_q] = o.to(q.dtype)
                lse[b, h, i : i + block_q] = lse_i[:, 0]
    return out, lse


def flash_backward(grad_out, q, k, v, out, lse, *, causal=False, block_q=64, block_k=64, scale=None):
    acc = torch.float64 if q.dtype == torch.float64 else torch.float32
    scale = q.size(3) ** -0.5 if scale is None else scale
    B, H, Tq, d = q.shape
    Tk = k.size(2)
    dq = torch.zeros(B, H, Tq, d, dtype=acc, device=q.device)
    dk, dv = (torch.empty(B, H, Tk, d, dtype=k.dtype, device=q.device) for _ in range(2))
    for b in range(B):
        for h in range(H):
            for j in range(0, Tk, block_k):
                kj, vj = k[b, h, j : j + block_k].to(acc), v[b, h, j : j + block_k].to(acc)
                dkj, dvj = torch.zeros_like(kj), torch.zeros_like(vj)
                for i in range(0, Tq, block_q):
                    rows = slice(i, min(i + block_q, Tq))
                    if causal and j > rows.stop - 1 + Tk - Tq:
                        continue
                    qi, gi, oi = (t[b, h, rows].to(acc) for t in (q, grad_out, out))
                    s = scores_of(qi, kj, i, j, Tk - Tq, scale, causal)
                    p = torch.exp(s - lse[b, h, rows].to(acc).unsqueeze(1))
                    p = torch.where(torch.isinf(s), torch.zeros_like(p), p)
                    ds = p * (gi.mm(vj.t()) - (gi * oi).sum(1, keepdim=True)) * scale
                    dvj += p.t().mm(gi)
                    dkj += ds.t().mm(qi)
                    dq[b, h, rows] += ds.mm(kj)
                dk[b, h, j : j + block_k] = dkj.to(k.dtype)
                dv[b, h, j : j + block_k] = dvj.to(v.dtype)
    return dq.to(q.dtype), dk, dv


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, options):
        out, lse = flash_forward(q, k, v, **options)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.options = options
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        return (*flash_backward(grad, q, k, v, out, lse, **ctx.options), None)


def flash_attention(q, k, v, **options):
    return _Attention.apply(q, k, v, options)
