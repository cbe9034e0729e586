"""Assignments sorted by expert, split into consecutive blocks, and scattered back at once."""

import math

import torch
import torch.nn.functional as F


def _up(t):
    return t.float() if t.element_size() == 2 else t


def _check(k, E, bias):
    if not (0 < k <= E):
        raise ValueError(f"k={k}")
    if bias is not None and (bias.ndim != 1 or bias.numel() != E):
        raise ValueError("bias must be (E,)")


def route(logits, k, bias=None):
    _check(k, logits.shape[1], bias)
    p = F.softmax(_up(logits), dim=1)
    if bias is None:
        top, chosen = p.topk(k, dim=1)
    else:
        chosen = (p + bias).detach().topk(k, dim=1)[1]
        top = p[torch.arange(len(p), device=p.device)[:, None], chosen]
    return top / top.sum(1, keepdim=True), chosen


def keep_mask(chosen, num_experts, capacity):
    if capacity < 0:
        raise ValueError
    order = chosen.T.flatten()  # column by column
    by_expert = torch.argsort(order, stable=True)
    counts = torch.bincount(order, minlength=num_experts)
    start = counts.cumsum(0) - counts
    place = torch.empty_like(order)
    place[by_expert] = torch.arange(len(order), device=order.device) - start[order[by_expert]]
    return (place < capacity).view(chosen.shape[1], chosen.shape[0]).T


def moe_forward(x, router, experts, k, capacity_factor=None, bias=None):
    if capacity_factor is not None and capacity_factor <= 0:
        raise ValueError
    _check(k, len(router), bias)
    d = x.shape[-1]
    rows = x.reshape(-1, d)
    if rows.shape[0] == 0:
        return rows.new_zeros(x.shape)
    w, chosen = route(F.linear(_up(rows), _up(router)), k, bias)
    if capacity_factor is not None:
        keep = keep_mask(chosen, len(router), math.ceil(capacity_factor * rows.shape[0] * k / len(router)))
    else:
        keep = chosen >= 0
    token, column = keep.nonzero(as_tuple=True)
    expert = chosen[token, column]
    order = expert.argsort()
    token, column, expert = token[order], column[order], expert[order]
    sizes = torch.bincount(expert, minlength=len(router)).tolist()
    blocks = [f(block) for f, block in zip(experts, rows[token].split(sizes))]
    y = torch.cat(blocks) * w[token, column].unsqueeze(1)
    out = torch.zeros(rows.shape, dtype=y.dtype, device=x.device)
    out.scatter_add_(0, token[:, None].expand(-1, d), y)
    return out.to(x.dtype).view(x.shape)


def balance_loss(logits, chosen):
    T, E = logits.shape
    p = F.softmax(_up(logits), dim=-1)
    hits = torch.zeros_like(p).scatter_add(1, chosen, torch.ones_like(chosen, dtype=p.dtype))
    f = hits.sum(0) / chosen.numel()
    return E * (f.detach() * p.mean(0)).sum()


def z_loss(logits):
    z = _up(logits)
    top = z.max(dim=1, keepdim=True).values
    lse = top.squeeze(1) + (z - top).exp().sum(1).log()
    return (lse * lse).sum() / len(lse)


def update_bias(bias, chosen, rate):
    load = torch.zeros_like(bias).index_add(
        0, chosen.flatten(), torch.ones(chosen.numel(), dtype=bias.dtype, device=bias.device)
    )
    return bias.detach().clone().add_(torch.sign(load.mean() - load), alpha=rate)
