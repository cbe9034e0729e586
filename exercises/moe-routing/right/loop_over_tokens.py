"""Queues in Python, one assignment at a time; stacked rows per expert."""

import math

import torch


def _wide(t):
    return t.to(torch.float32) if t.dtype.itemsize < 4 and t.is_floating_point() else t


def route(logits, k, bias=None):
    T, E = logits.shape
    if k < 1 or k > E:
        raise ValueError("k")
    if bias is not None and tuple(bias.shape) != (E,):
        raise ValueError("bias")
    log_p = torch.log_softmax(_wide(logits), dim=1)
    with torch.no_grad():
        key = log_p if bias is None else log_p.exp() + bias
        chosen = key.argsort(dim=1, descending=True)[:, :k]
    return torch.softmax(torch.take_along_dim(log_p, chosen, dim=1), dim=1), chosen


def keep_mask(chosen, num_experts, capacity):
    if capacity < 0:
        raise ValueError("capacity")
    free = [capacity] * num_experts
    rows = chosen.tolist()
    keep = [[False] * chosen.shape[1] for _ in rows]
    for j in range(chosen.shape[1]):
        for t, row in enumerate(rows):
            if free[row[j]] > 0:
                free[row[j]] -= 1
                keep[t][j] = True
    return torch.tensor(keep, dtype=torch.bool, device=chosen.device).reshape(chosen.shape)


def moe_forward(x, router, experts, k, capacity_factor=None, bias=None):
    if capacity_factor is not None and not capacity_factor > 0:
        raise ValueError("capacity_factor")
    flat = x.flatten(0, -2)
    weights, chosen = route(torch.einsum("td,ed->te", _wide(flat), _wide(router)), k, bias)
    T, E = len(flat), len(router)
    capacity = T * k if capacity_factor is None else math.ceil(capacity_factor * T * k / E)
    keep = keep_mask(chosen, E, capacity)
    parts = [[] for _ in range(T)]
    for e in range(E):
        pairs = [(t, j) for t in range(T) for j in range(k) if keep[t, j] and chosen[t, j] == e]
        if not pairs:
            continue
        y = experts[e](torch.stack([flat[t] for t, _ in pairs]))
        for row, (t, j) in zip(y, pairs):
            parts[t].append(row * weights[t, j].to(row.dtype))
    out = [sum(p) if p else torch.zeros_like(flat[0]) for p in parts]
    return (torch.stack(out) if out else flat.clone()).reshape(x.shape)


def balance_loss(logits, chosen):
    E = logits.size(1)
    P = _wide(logits).softmax(1).mean(0)
    f = torch.nn.functional.one_hot(chosen.flatten(), E).to(P.dtype).mean(0)
    return E * torch.dot(f, P)


def z_loss(logits):
    return torch.logsumexp(_wide(logits), 1).pow(2).mean()


def update_bias(bias, chosen, rate):
    n = torch.stack([(chosen == e).sum() for e in range(len(bias))])
    mean = chosen.numel() / len(bias)
    up, down = (n < mean).to(bias.dtype), (n > mean).to(bias.dtype)
    return bias + rate * (up - down)
