# fails: 3
"""Every expert gets a buffer of fixed size, filled up with rows of zeros."""

import torch


def route(logits, k, bias=None):
    if not 1 <= k <= logits.shape[-1] or (bias is not None and bias.shape != logits.shape[-1:]):
        raise ValueError
    p = (logits.float() if logits.element_size() == 2 else logits).softmax(-1)
    chosen = (p.detach() if bias is None else p.detach() + bias.detach()).topk(k, -1).indices
    weights = p.gather(-1, chosen)
    return weights / weights.sum(-1, keepdim=True), chosen


def keep_mask(chosen, num_experts, capacity):
    if capacity < 0:
        raise ValueError
    queue = chosen.t().reshape(-1)
    place = torch.nn.functional.one_hot(queue, num_experts).cumsum(0).gather(1, queue[:, None])
    return (place <= capacity).reshape(chosen.shape[1], chosen.shape[0]).t()


def moe_forward(x, router, experts, k, capacity_factor=None, bias=None):
    if capacity_factor is not None and capacity_factor <= 0:
        raise ValueError
    flat = x.reshape(-1, x.shape[-1])
    wide = flat.float() if flat.element_size() == 2 else flat
    weights, chosen = route(wide @ router.to(wide.dtype).t(), k, bias)
    E, T = len(experts), len(flat)
    capacity = T if capacity_factor is None else -int(-capacity_factor * T * k // E)
    kept = keep_mask(chosen, E, capacity)
    out = torch.zeros_like(wide)
    for e, expert in enumerate(experts):
        token, column = ((chosen == e) & kept).nonzero(as_tuple=True)
        buffer = torch.cat([flat[token], flat.new_zeros(capacity - len(token), flat.shape[1])])
        rows = expert(buffer)[: len(token)]
        out = out.index_add(0, token, weights[token, column, None] * rows)
    return out.to(x.dtype).reshape(x.shape)


def balance_loss(logits, chosen):
    p = (logits.float() if logits.element_size() == 2 else logits).softmax(-1)
    f = torch.bincount(chosen.flatten(), minlength=p.shape[1]).to(p.dtype) / chosen.numel()
    return p.shape[1] * (f * p.mean(0)).sum()


def z_loss(logits):
    return (logits.float() if logits.element_size() == 2 else logits).logsumexp(-1).square().mean()


def update_bias(bias, chosen, rate):
    counts = torch.bincount(chosen.flatten(), minlength=len(bias)).to(bias.dtype)
    return bias + rate * (counts.mean() - counts).sign()
