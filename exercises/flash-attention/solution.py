"""FlashAttention in plain PyTorch: exact attention, one tile of scores at a time.

Invariant of the forward: after each key tile, `total` and `acc` are the softmax denominator and numerator over the
keys seen so far, relative to the running maximum `top`. An empty row keeps top = -inf, total = 0 and acc = 0.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor


def check(q: Tensor, k: Tensor, v: Tensor, block_q: int, block_k: int) -> None:
    """Refuse shapes that do not fit, instead of broadcasting them."""
    if block_q < 1 or block_k < 1:
        raise ValueError(f"block sizes must be at least 1, got {block_q} and {block_k}")
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4:
        raise ValueError("q, k and v must have four dimensions")
    if q.shape[:2] != k.shape[:2] or q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q {tuple(q.shape)} and k {tuple(k.shape)} do not fit")
    if v.shape != k.shape:
        raise ValueError(f"v {tuple(v.shape)} must have the shape of k {tuple(k.shape)}")
    if q.shape[2] == 0 or k.shape[2] == 0:
        raise ValueError("there must be at least one query and one key")


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype of accumulators: float32, or float64 for float64."""
    return torch.promote_types(dtype, torch.float32)


def blocks(length: int, size: int) -> Iterator[slice]:
    """Slices of `size` positions; the last may be shorter."""
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def in_future(rows: slice, cols: slice, offset: int) -> bool:
    """Whether no query of `rows` sees a key of `cols`, where query i sees the keys up to i + offset."""
    return cols.start > rows.stop - 1 + offset


def tile_scores(
    q: Tensor, k: Tensor, scale: float, rows: slice, cols: slice, causal: bool, offset: int
) -> Tensor:
    """Scaled scores of one tile, -inf where the causal mask hides a key."""
    scores = scale * (q @ k.transpose(-2, -1))
    if causal and cols.stop - 1 > rows.start + offset:
        query = torch.arange(rows.start, rows.stop, device=q.device)[:, None]
        key = torch.arange(cols.start, cols.stop, device=q.device)
        scores = scores.masked_fill(key > query + offset, -math.inf)
    return scores


def flash_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    block_q: int = 64,
    block_k: int = 64,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention output (B, H, Tq, d) and log-sum-exp (B, H, Tq)."""
    check(q, k, v, block_q, block_k)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    queries, keys = q.shape[2], k.shape[2]
    offset, dtype = keys - queries, wide(q.dtype)
    out = torch.zeros(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.full(q.shape[:3], -math.inf, dtype=dtype, device=q.device)
    for rows in blocks(queries, block_q):
        q_tile = q[:, :, rows].to(dtype)
        acc = torch.zeros(q_tile.shape, dtype=dtype, device=q.device)
        total = torch.zeros(q_tile.shape[:3], dtype=dtype, device=q.device)
        top = torch.full_like(total, -math.inf)
        for cols in blocks(keys, block_k):
            if causal and in_future(rows, cols, offset):
                break
            k_tile, v_tile = k[:, :, cols].to(dtype), v[:, :, cols].to(dtype)
            scores = tile_scores(q_tile, k_tile, scale, rows, cols, causal, offset)
            new_top = torch.maximum(top, scores.amax(-1))
            # Where nothing has been seen yet, any finite reference avoids -inf minus -inf.
            reference = new_top.masked_fill(new_top == -math.inf, 0.0)
            weights = torch.exp(scores - reference[..., None])
            rescale = torch.exp(top - reference)
            total = total * rescale + weights.sum(-1)
            acc = acc * rescale[..., None] + weights @ v_tile
            top = new_top
        seen = total > 0
        safe = total.masked_fill(~seen, 1.0)
        out[:, :, rows] = (acc / safe[..., None]).to(q.dtype)
        lse[:, :, rows] = top + torch.log(safe)
    return out, lse


def flash_backward(
    grad_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    causal: bool = False,
    block_q: int = 64,
    block_k: int = 64,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v; each tile of probabilities is recomputed from the log-sum-exp."""
    check(q, k, v, block_q, block_k)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    queries, keys = q.shape[2], k.shape[2]
    offset, dtype = keys - queries, wide(q.dtype)
    dq = torch.zeros(q.shape, dtype=dtype, device=q.device)
    dk = torch.zeros(k.shape, dtype=dtype, device=q.device)
    dv = torch.zeros(v.shape, dtype=dtype, device=q.device)
    for rows in blocks(queries, block_q):
        q_tile, grad_tile = q[:, :, rows].to(dtype), grad_out[:, :, rows].to(dtype)
        delta = (grad_tile * out[:, :, rows].to(dtype)).sum(-1, keepdim=True)
        # For an empty row every score is -inf; a finite reference makes all of its weights exp(-inf) = 0.
        reference = lse[:, :, rows, None].to(dtype)
        reference = reference.masked_fill(reference == -math.inf, 0.0)
        for cols in blocks(keys, block_k):
            if causal and in_future(rows, cols, offset):
                break
            k_tile, v_tile = k[:, :, cols].to(dtype), v[:, :, cols].to(dtype)
            scores = tile_scores(q_tile, k_tile, scale, rows, cols, causal, offset)
            weights = torch.exp(scores - reference)
            grad_weights = grad_tile @ v_tile.transpose(-2, -1)
            grad_scores = weights * (grad_weights - delta)
            dv[:, :, cols] += weights.transpose(-2, -1) @ grad_tile
            dq[:, :, rows] += scale * (grad_scores @ k_tile)
            dk[:, :, cols] += scale * (grad_scores.transpose(-2, -1) @ q_tile)
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


class FlashAttention(torch.autograd.Function):
    """Saves the inputs, the output and one number per query; everything else is recomputed."""

    @staticmethod
    def forward(ctx, q, k, v, causal, block_q, block_k, scale):
        out, lse = flash_forward(q, k, v, causal=causal, block_q=block_q, block_k=block_k, scale=scale)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.options = {"causal": causal, "block_q": block_q, "block_k": block_k, "scale": scale}
        return out

    @staticmethod
    def backward(ctx, grad_out):
        grads = flash_backward(grad_out, *ctx.saved_tensors, **ctx.options)
        return *grads, None, None, None, None


def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    block_q: int = 64,
    block_k: int = 64,
    scale: float | None = None,
) -> Tensor:
    """Differentiable attention with memory linear in the length."""
    return FlashAttention.apply(q, k, v, causal, block_q, block_k, scale)
