import torch
import torch.nn.functional as F

NOTHING = float("-inf")


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    """Softmax with a finite stand-in for rows without keys."""
    wide = torch.promote_types(q.dtype, torch.float32)
    q, k, v = (t.to(wide) for t in (q, k, v))
    scores = torch.einsum("bhqd,bhkd->bhqk", q * q.shape[-1] ** -0.5, k)
    if not causal:
        return torch.softmax(scores, dim=-1) @ v, torch.logsumexp(scores, dim=-1)
    rows = torch.arange(q.shape[2], device=q.device).unsqueeze(1) + q_start
    columns = torch.arange(k.shape[2], device=q.device).unsqueeze(0) + k_start
    allowed = columns <= rows
    sees = allowed.any(dim=1)
    scores = torch.where(allowed | ~sees[:, None], scores, NOTHING)
    out = torch.where(sees[:, None], torch.softmax(scores, dim=-1) @ v, 0.0)
    return out, torch.where(sees, torch.logsumexp(scores, dim=-1), NOTHING)


def merge(out_a, lse_a, out_b, lse_b):
    """out = a + sigmoid(lse_b - lse_a) * (b - a), guarded where one side is empty."""
    none_a, none_b = lse_a == NOTHING, lse_b == NOTHING
    a = torch.where(none_a, torch.zeros_like(lse_a), lse_a)
    b = torch.where(none_b, torch.zeros_like(lse_b), lse_b)
    share = torch.sigmoid(b - a)
    share = torch.where(none_b, torch.zeros_like(share), torch.where(none_a, torch.ones_like(share), share))[
        ..., None
    ]
    out = (1 - share) * out_a + share * out_b
    lse = torch.maximum(a, b) + F.softplus(-(a - b).abs())
    return out, torch.where(none_a, lse_b, torch.where(none_b, lse_a, lse))


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    it = iter(kv_blocks)
    try:
        start, k, v = next(it)
    except StopIteration:
        raise ValueError("ring_attention needs at least one block") from None
    out, lse = block_attention(q, k, v, causal=causal, q_start=q_start, k_start=start)
    for start, k, v in it:
        out, lse = merge(out, lse, *block_attention(q, k, v, causal=causal, q_start=q_start, k_start=start))
    return out.type_as(q)
