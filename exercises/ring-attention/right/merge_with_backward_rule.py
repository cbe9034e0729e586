from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

NEG_INF = float("-inf")


class Partial(NamedTuple):
    out: Tensor
    lse: Tensor


def _accumulator_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


class _Merge(torch.autograd.Function):
    """The merge with its own backward rule."""

    @staticmethod
    def forward(ctx, oa, la, ob, lb):
        lse = torch.logaddexp(la, lb)
        dead = lse == NEG_INF
        ref = lse.masked_fill(dead, 0.0)
        wa, wb = (la - ref).exp(), (lb - ref).exp()
        out = wa.unsqueeze(-1) * oa + wb.unsqueeze(-1) * ob
        ctx.save_for_backward(oa, ob, wa, wb, out)
        return out, lse

    @staticmethod
    def backward(ctx, go, gl):
        oa, ob, wa, wb, out = ctx.saved_tensors
        gla = wa * ((go * (oa - out)).sum(-1) + gl)
        glb = wb * ((go * (ob - out)).sum(-1) + gl)
        return go * wa.unsqueeze(-1), gla, go * wb.unsqueeze(-1), glb


def block_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    q_start: int = 0,
    k_start: int = 0,
    scale: float | None = None,
) -> Partial:
    assert q.ndim == k.ndim == v.ndim == 4
    acc = _accumulator_dtype(q.dtype)
    scale = q.size(-1) ** -0.5 if scale is None else scale
    s = torch.einsum("bhqd,bhkd->bhqk", q.to(acc) * scale, k.to(acc))
    if causal:
        visible = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril(diagonal=q_start - k_start)
        s = s.where(visible, NEG_INF)
        some = visible.any(-1)
        safe = s.masked_fill(~some[:, None], 0.0)
        lse = safe.logsumexp(-1)
        p = (safe - lse.unsqueeze(-1)).exp() * some[:, None]
        lse = lse.masked_fill(~some, NEG_INF)
    else:
        lse = s.logsumexp(-1)
        p = (s - lse.unsqueeze(-1)).exp()
    return Partial(torch.einsum("bhqk,bhkd->bhqd", p, v.to(acc)), lse)


def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> Partial:
    acc = _accumulator_dtype(out_a.dtype)
    return Partial(*_Merge.apply(out_a.to(acc), lse_a.to(acc), out_b.to(acc), lse_b.to(acc)))


class _Ring:
    __slots__ = ("q", "causal", "q_start", "state", "seen")

    def __init__(self, q, causal, q_start):
        acc = _accumulator_dtype(q.dtype)
        self.q, self.causal, self.q_start, self.seen = q, causal, q_start, 0
        self.state = Partial(
            torch.zeros_like(q, dtype=acc), torch.full(q.shape[:-1], NEG_INF, dtype=acc, device=q.device)
        )

    def receive(self, block):
        k_start, k, v = block
        self.seen += 1
        if self.causal and k_start > self.q_start + self.q.size(-2) - 1:
            return
        self.state = merge(
            *self.state,
            *block_attention(self.q, k, v, causal=self.causal, q_start=self.q_start, k_start=k_start),
        )


def ring_attention(
    q: Tensor, kv_blocks: Iterable[tuple[int, Tensor, Tensor]], *, causal: bool = False, q_start: int = 0
) -> Tensor:
    ring = _Ring(q, causal, q_start)
    blocks: Iterator = iter(kv_blocks)
    while (block := next(blocks, None)) is not None:
        ring.receive(block)
    if not ring.seen:
        raise ValueError("kv_blocks is empty")
    return ring.state.out.to(q.dtype)
