from __future__ import annotations

import torch
from torch import Tensor


class Filters:
    def __init__(self, temperature: float, top_k: int | None, top_p: float | None):
        ok = temperature >= 0 and (top_k is None or top_k >= 1) and (top_p is None or 0 < top_p <= 1)
        if not ok:
            raise ValueError(f"temperature={temperature}, top_k={top_k}, top_p={top_p}")
        self.t, self.k, self.p = temperature, top_k, top_p

    def __call__(self, logits: Tensor) -> Tensor:
        values, index = torch.sort(logits.detach().to(torch.float64), dim=-1, descending=True)
        place = torch.arange(values.shape[-1], device=values.device).expand(values.shape)
        if self.t == 0:
            keep = place < 1
        else:
            values = values / self.t
            keep = place < (self.k or values.shape[-1])
            if self.p is not None and self.p != 1:
                probs = torch.softmax(values.masked_fill(~keep, -torch.inf), -1)
                earlier = torch.roll(probs.cumsum(-1), 1, -1)
                earlier[..., 0] = 0.0
                keep = keep & (earlier < self.p)
        values = values.masked_fill(~keep, -torch.inf).to(logits.dtype)
        out = torch.empty(logits.shape, dtype=logits.dtype, device=logits.device)
        return out.scatter_(-1, index, values)


def filter_logits(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    return Filters(temperature, top_k, top_p)(logits)


def sample(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    best = logits.float().amax(-1)
    if not best.isfinite().all():
        raise ValueError("every row needs a finite largest logit")
    filters = Filters(temperature, top_k, top_p)
    if temperature == 0:
        return logits.float().argmax(-1)
    cdf = filters(logits).double().softmax(-1).cumsum(-1)
    u = torch.rand(len(logits), 1, generator=generator, device=logits.device, dtype=torch.float64)
    # 1 - u lies in (0, 1]: a token of probability 0 is never the first to reach it.
    return torch.searchsorted(cdf, (1 - u) * cdf[:, -1:])[:, 0]


def generate(
    step, tokens: Tensor, n_new: int, *, eos_id=None, temperature=1.0, top_k=None, top_p=None, generator=None
) -> Tensor:
    if n_new < 0:
        raise ValueError(f"n_new={n_new}")
    columns = [tokens]
    stopped = tokens.new_zeros(len(tokens)).bool()
    for _ in range(n_new):
        if eos_id is not None and stopped.all():
            break
        last = step(torch.cat(columns, 1))[:, -1]
        new = sample(last, temperature, top_k, top_p, generator)
        if eos_id is not None:
            new[stopped] = eos_id
            stopped |= new == eos_id
        columns.append(new[:, None])
    return torch.cat(columns, 1)
