"""A finite start far below any score, masks that multiply, heads flattened, saves only q, k and v."""

import torch

LOW = -1e30


def _check(q, k, v, block_q, block_k):
    ok = q.dim() == k.dim() == v.dim() == 4 and block_q >= 1 and block_k >= 1
    ok = ok and q.shape[:2] == k.shape[:2] and q.shape[3] == k.shape[3] and k.shape == v.shape
    if not ok or q.shape[2] < 1 or k.shape[2] < 1:
        raise ValueError("invalid arguments")


def _flat(t):
    t = t.reshape(-1, t.shape[2], t.shape[3])
    return t.double() if t.dtype == torch.float64 else t.float()


def _seen(rows, cols, shift, causal, device):
    row = torch.arange(rows.start, rows.stop, device=device)
    col = torch.arange(cols.start, cols.stop, device=device)
    return (col[None, :] <= row[:, None] + shift) | (not causal)


def _pairs(queries, keys, block_q, block_k, causal):
    for i in range(-(-queries // block_q)):
        rows = range(i * block_q, min((i + 1) * block_q, queries))
        last = rows[-1] + keys - queries if causal else keys - 1
        count = max(0, min(-(-keys // block_k), last // block_k + 1))
        yield rows, [range(j * block_k, min((j + 1) * block_k, keys)) for j in range(count)]


def flash_forward(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    _check(q, k, v, block_q, block_k)
    with torch.no_grad():
        scale = q.shape[3] ** -0.5 if scale is None else scale
        Q, K, V = _flat(q), _flat(k), _flat(v)
        out, lse = torch.zeros_like(Q), torch.full_like(Q[:, :, 0], -float("inf"))
        shift = k.shape[2] - q.shape[2]
        for rows, tiles in _pairs(q.shape[2], k.shape[2], block_q, block_k, causal):
            here = slice(rows.start, rows.stop)
            m = torch.full_like(lse[:, here], LOW)
            l, o = torch.zeros_like(m), torch.zeros_like(Q[:, here])
            for cols in tiles:
                there = slice(cols.start, cols.stop)
                seen = _seen(rows, cols, shift, causal, q.device)
                s = torch.bmm(Q[:, here], K[:, there].mT).mul_(scale).masked_fill_(~seen, LOW)
                new = torch.maximum(m, s.amax(2))
                p = torch.exp(s - new.unsqueeze(2)) * seen
                alpha = torch.exp(m - new)
                l = l * alpha + p.sum(2)
                o = torch.baddbmm(o * alpha.unsqueeze(2), p, V[:, there])
                m = new
            some = l > 0
            out[:, here] = torch.where(some.unsqueeze(2), o / l.clamp(min=1e-30).unsqueeze(2), 0.0)
            lse[:, here] = torch.where(some, m + torch.log(l.clamp(min=1e-30)), -float("inf"))
    return out.view(q.shape).to(q.dtype), lse.view(q.shape[:3])


def flash_backward(grad_out, q, k, v, out, lse, *, causal=False, block_q=64, block_k=64, scale=None):
    with torch.no_grad():
        scale = q.shape[3] ** -0.5 if scale is None else scale
        Q, K, V, G = _flat(q), _flat(k), _flat(v), _flat(grad_out)
        D = (G * _flat(out)).sum(2)
        L = lse.reshape(-1, q.shape[2]).to(Q.dtype)
        L = torch.where(L == -float("inf"), 0.0, L)
        dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
        shift = k.shape[2] - q.shape[2]
        for rows, tiles in _pairs(q.shape[2], k.shape[2], block_q, block_k, causal):
            here = slice(rows.start, rows.stop)
            for cols in tiles:
                there = slice(cols.start, cols.stop)
                seen = _seen(rows, cols, shift, causal, q.device)
                s = torch.bmm(Q[:, here], K[:, there].mT) * scale
                p = torch.exp(s.masked_fill(~seen, LOW) - L[:, here].unsqueeze(2))
                dV[:, there].baddbmm_(p.mT, G[:, here])
                ds = torch.bmm(G[:, here], V[:, there].mT).sub_(D[:, here].unsqueeze(2)).mul_(p).mul_(scale)
                dQ[:, here].baddbmm_(ds, K[:, there])
                dK[:, there].baddbmm_(ds.mT, Q[:, here])
    return dQ.view(q.shape).to(q.dtype), dK.view(k.shape).to(k.dtype), dV.view(v.shape).to(v.dtype)


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, options, *inputs):
        ctx.options = options
        ctx.save_for_backward(*inputs)
        return flash_forward(*inputs, **options)[0]

    @staticmethod
    def backward(ctx, grad_out):
        out, lse = flash_forward(*ctx.saved_tensors, **ctx.options)
        return None, *flash_backward(grad_out, *ctx.saved_tensors, out, lse, **ctx.options)


def flash_attention(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    options = {"causal": causal, "block_q": block_q, "block_k": block_k, "scale": scale}
    return Attend.apply(options, q, k, v)
