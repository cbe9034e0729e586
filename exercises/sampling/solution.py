"""Filters work on logits, drawing works on probabilities; a removed token is a logit of -inf in between."""

from collections.abc import Callable

import torch
from torch import Tensor

INF = float("inf")


def filter_logits(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be in (0, 1]")
    if temperature == 0:
        best = logits.argmax(dim=-1, keepdim=True)
        return torch.full_like(logits, -INF).scatter(-1, best, logits.gather(-1, best))

    # Half precision is too coarse to sum thousands of probabilities.
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        threshold = scores.topk(top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < threshold, -INF)
    if top_p is not None and top_p < 1:
        ordered, index = scores.sort(dim=-1, descending=True)
        probs = ordered.softmax(dim=-1)
        before = probs.cumsum(dim=-1) - probs
        remove = torch.zeros_like(before, dtype=torch.bool).scatter(-1, index, before >= top_p)
        scores = scores.masked_fill(remove, -INF)
    return scores.to(logits.dtype)


def sample(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    if logits.isnan().any() or logits.isposinf().any():
        raise ValueError("logits hold NaN or +inf")
    if not logits.isfinite().any(dim=-1).all():
        raise ValueError("a row has no finite logit")
    kept = filter_logits(logits, temperature, top_k, top_p)
    if temperature == 0:
        return kept.argmax(dim=-1)
    probs = kept.float().softmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


def generate(
    step: Callable[[Tensor], Tensor],
    tokens: Tensor,
    n_new: int,
    *,
    eos_id: int | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    if n_new < 0:
        raise ValueError("n_new must not be negative")
    finished = torch.zeros(tokens.shape[0], dtype=torch.bool, device=tokens.device)
    for _ in range(n_new):
        logits = step(tokens)[:, -1]
        new = sample(logits, temperature, top_k, top_p, generator)
        if eos_id is not None:
            new = new.masked_fill(finished, eos_id)
            finished = finished | (new == eos_id)
        tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
        if finished.all():
            break
    return tokens
