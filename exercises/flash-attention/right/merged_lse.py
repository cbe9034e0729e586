"""Tiles as (out, lse) pairs that are merged with logaddexp; einsum; setup_context; the scale goes into q."""

import torch


def _prepare(q, k, v, block_q, block_k, scale):
    if block_q < 1 or block_k < 1:
        raise ValueError("block size below 1")
    if {q.ndim, k.ndim, v.ndim} != {4}:
        raise ValueError("q, k, v must be 4-D")
    if (*q.shape[:2], q.shape[3]) != (*k.shape[:2], k.shape[3]) or v.shape != k.shape:
        raise ValueError("q, k, v do not fit")
    if not q.shape[2] or not k.shape[2]:
        raise ValueError("nothing to attend")
    return q.shape[3] ** -0.5 if scale is None else scale


def _mask(i, rows, j, cols, shift, device):
    return (
        torch.arange(j, j + cols, device=device)[None]
        <= torch.arange(i, i + rows, device=device)[:, None] + shift
    )


def _tile(qs, kj, causal, i, j, shift):
    s = torch.einsum("bhid,bhjd->bhij", qs, kj)
    if causal:
        s = torch.where(_mask(i, s.shape[2], j, s.shape[3], shift, s.device), s, float("-inf"))
    return s


@torch.no_grad()
def flash_forward(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    scale = _prepare(q, k, v, block_q, block_k, scale)
    shift = k.shape[2] - q.shape[2]
    outs, lses = [], []
    for i in range(0, q.shape[2], block_q):
        qs = q[:, :, i : i + block_q]
        qs = (qs.double() if q.dtype == torch.float64 else qs.float()) * scale
        o, lse = torch.zeros_like(qs), torch.full_like(qs[..., 0], float("-inf"))
        last = i + qs.shape[2] - 1 + shift
        for j in range(0, k.shape[2], block_k):
            if causal and j > last:
                continue
            kj, vj = k[:, :, j : j + block_k].to(qs.dtype), v[:, :, j : j + block_k].to(qs.dtype)
            s = _tile(qs, kj, causal, i, j, shift)
            tile = torch.logsumexp(s, -1)
            new = torch.logaddexp(lse, tile)
            base = torch.where(new == float("-inf"), torch.zeros_like(new), new)
            p = torch.exp(s - base[..., None])
            o = o * torch.exp(lse - base)[..., None] + torch.einsum("bhij,bhjd->bhid", p, vj)
            lse = new
        outs.append(o.to(q.dtype))
        lses.append(lse)
    return torch.cat(outs, 2), torch.cat(lses, 2)


@torch.no_grad()
def flash_backward(grad_out, q, k, v, out, lse, *, causal=False, block_q=64, block_k=64, scale=None):
    scale = _prepare(q, k, v, block_q, block_k, scale)
    shift, wide = k.shape[2] - q.shape[2], torch.promote_types(q.dtype, torch.float32)
    delta = torch.stack(
        [(grad_out[:, :, i].to(wide) * out[:, :, i].to(wide)).sum(-1) for i in range(q.shape[2])], -1
    )
    base = torch.nan_to_num(lse.to(wide), neginf=0.0)
    dq = [0.0] * len(range(0, q.shape[2], block_q))
    dks, dvs = [], []
    for j in range(0, k.shape[2], block_k):
        kj, vj = k[:, :, j : j + block_k].to(wide), v[:, :, j : j + block_k].to(wide)
        dk, dv = torch.zeros_like(kj), torch.zeros_like(vj)
        for n, i in enumerate(range(0, q.shape[2], block_q)):
            rows = slice(i, i + block_q)
            qs, g = q[:, :, rows].to(wide) * scale, grad_out[:, :, rows].to(wide)
            if causal and j > i + qs.shape[2] - 1 + shift:
                dq[n] = dq[n] + torch.zeros_like(qs)
                continue
            p = torch.exp(_tile(qs, kj, causal, i, j, shift) - base[:, :, rows, None])
            ds = p * (torch.einsum("bhid,bhjd->bhij", g, vj) - delta[:, :, rows, None])
            dv = dv + torch.einsum("bhij,bhid->bhjd", p, g)
            dk = dk + torch.einsum("bhij,bhid->bhjd", ds, qs)
            dq[n] = dq[n] + torch.einsum("bhij,bhjd->bhid", ds, kj) * scale
        dks.append(dk)
        dvs.append(dv)
    return torch.cat(dq, 2).to(q.dtype), torch.cat(dks, 2).to(k.dtype), torch.cat(dvs, 2).to(v.dtype)


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(q, k, v, causal, block_q, block_k, scale):
        return flash_forward(q, k, v, causal=causal, block_q=block_q, block_k=block_k, scale=scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, *ctx.rest = inputs
        out, lse = output
        ctx.mark_non_differentiable(lse)
        ctx.save_for_backward(q, k, v, out, lse)

    @staticmethod
    def backward(ctx, grad_out, _):
        causal, block_q, block_k, scale = ctx.rest
        grads = flash_backward(
            grad_out, *ctx.saved_tensors, causal=causal, block_q=block_q, block_k=block_k, scale=scale
        )
        return (*grads, None, None, None, None)


def flash_attention(q, k, v, *, causal=False, block_q=64, block_k=64, scale=None):
    return Flash.apply(q, k, v, causal, block_q, block_k, scale)[0]
