"""A (T, E) table of weights; masked selection per expert, output written row by row in place."""

import torch
from torch import nn


def precise(t):
    return t if t.dtype in (torch.float32, torch.float64) else t.to(torch.float32)


def route(logits, k, bias=None):
    experts = logits.size(-1)
    if k < 1:
        raise ValueError("k must be positive")
    if k > experts:
        raise ValueError("more choices than experts")
    if bias is not None and bias.shape != logits.shape[-1:]:
        raise ValueError("one bias for each expert")
    p = nn.Softmax(dim=-1)(precise(logits))
    masked = p.detach().clone() if bias is None else p.detach() + bias.detach()
    picks = []
    for _ in range(k):
        best = masked.argmax(-1, keepdim=True)
        picks.append(best)
        masked = masked.scatter(-1, best, float("-inf"))
    chosen = torch.cat(picks, -1)
    weights = torch.gather(p, -1, chosen)
    return weights * weights.sum(-1, keepdim=True).reciprocal(), chosen


def keep_mask(chosen, num_experts, capacity):
    if capacity < 0:
        raise ValueError("negative capacity")
    used = torch.zeros(num_experts, dtype=torch.long, device=chosen.device)
    columns = []
    for column in chosen.unbind(1):
        hot = nn.functional.one_hot(column, num_experts)
        before = (hot.cumsum(0) - hot + used)[torch.arange(len(column)), column]
        columns.append(before < capacity)
        used = used + hot.sum(0)
    return torch.stack(columns, 1)


def moe_forward(x, router, experts, k, capacity_factor=None, bias=None):
    if capacity_factor is not None and capacity_factor <= 0:
        raise ValueError("capacity_factor")
    tokens = x.contiguous().view(-1, x.size(-1))
    weights, chosen = route(torch.matmul(precise(tokens), precise(router).transpose(0, 1)), k, bias)
    if capacity_factor is not None:
        capacity = -int(-(capacity_factor * tokens.size(0) * k / router.size(0)) // 1)
        weights = weights * keep_mask(chosen, router.size(0), capacity)
    table = weights.new_zeros(tokens.size(0), router.size(0)).scatter(1, chosen, weights)
    out = torch.zeros_like(tokens)
    for i, expert in enumerate(experts):
        rows = table[:, i].nonzero().squeeze(1)
        if rows.numel() == 0:
            continue
        out[rows] += (expert(tokens[rows]) * table[rows, i : i + 1]).to(out.dtype)
    return out.view_as(x)


def balance_loss(logits, chosen):
    mean = precise(logits).softmax(-1).mean(0)
    total = 0.0
    for i in range(logits.size(-1)):
        total = (
            total + (chosen == i).sum() / chosen.numel() * mean[i]
            if mean.dtype == torch.float32
            else (total + (chosen == i).double().mean() * mean[i])
        )
    return total * logits.size(-1)


def z_loss(logits):
    return (torch.logsumexp(precise(logits), dim=-1) ** 2).mean()


def update_bias(bias, chosen, rate):
    counts = torch.zeros(bias.shape[0], dtype=torch.long, device=bias.device)
    for expert in chosen.flatten().tolist():
        counts[expert] += 1
    return torch.where(
        counts * bias.shape[0] < chosen.numel(),
        bias + rate,
        torch.where(counts * bias.shape[0] > chosen.numel(), bias - rate, bias),
    )
