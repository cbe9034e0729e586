import torch


def _split(total, lse):
    """Sums in float64; a sigmoid decides the shares."""


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    want = q.dtype if q.dtype == torch.float64 else torch.float32
    q, k, v = q.double(), k.double(), v.double()
    b, h, n, d = q.shape
    out, lse = [], []
    for i in range(n):
        m = k.shape[2]
        if causal:
            m = min(m, max(0, q_start + i - k_start + 1))
        if m == 0:
            out.append(q.new_zeros(b, h, d))
            lse.append(q.new_full((b, h), -torch.inf))
            continue
        s = (q[:, :, i, None] * k[:, :, :m]).sum(-1) / d**0.5
        top = s.detach().max(-1, keepdim=True).values
        e = (s - top).exp()
        out.append((e.unsqueeze(-1) * v[:, :, :m]).sum(2) / e.sum(-1, keepdim=True))
        lse.append(e.sum(-1).log() + top[..., 0])
    return torch.stack(out, 2).to(want), torch.stack(lse, 2).to(want)


def merge(out_a, lse_a, out_b, lse_b):
    want = torch.float64 if out_a.dtype == torch.float64 else torch.float32
    la, lb = lse_a.double(), lse_b.double()
    no_a, no_b = torch.isneginf(la), torch.isneginf(lb)
    a0, b0 = la.masked_fill(no_a | no_b, 0), lb.masked_fill(no_a | no_b, 0)
    share = torch.sigmoid(b0 - a0)
    share = share.masked_fill(no_b, 0.0).masked_fill(no_a & ~no_b, 1.0).unsqueeze(-1)
    both = torch.maximum(a0, b0) + torch.log1p(torch.exp(-(a0 - b0).abs()))
    lse = torch.where(no_a, lb, torch.where(no_b, la, both))
    return (out_a.double() * (1 - share) + out_b.double() * share).to(want), lse.to(want)


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    blocks = iter(kv_blocks)
    try:
        held = [next(blocks)]
    except StopIteration:
        raise ValueError("there is no block of keys and values") from None
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    acc = (
        torch.zeros(q.shape, dtype=dtype, device=q.device),
        torch.full(q.shape[:3], -torch.inf, dtype=dtype, device=q.device),
    )

    def attend(start, k, v, acc):
        return merge(*block_attention(q, k, v, causal=causal, q_start=q_start, k_start=start), *acc)

    while held:
        acc = attend(*held.pop(), acc)
        held.extend(x for x in [next(blocks, None)] if x is not None)
    return acc[0].to(q.dtype)
