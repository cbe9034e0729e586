"""A frozen copy of the model instead of no_grad, labels to ignore, and the bootstrap by counts in pieces."""

import copy
import math

import torch
import torch.nn.functional as F


def _frozen(model):
    return copy.deepcopy(model).eval().requires_grad_(False)


def strided_nll(model, tokens, window, stride):
    if window < 2 or not (0 < stride < window):
        raise ValueError("window, stride")
    if tokens.numel() < 2:
        raise ValueError("tokens")
    model = _frozen(model)
    n, done, nll = tokens.numel(), 0, torch.zeros((), dtype=torch.float64)
    for start in range(0, max(n - window, 0) + stride, stride):
        ids = tokens[start : start + window]
        labels = ids.clone()
        fresh = torch.arange(start, start + len(ids), device=ids.device) > done
        labels[~fresh] = -100
        logits = model(ids[None]).double()
        nll += F.cross_entropy(logits[0, :-1], labels[1:], ignore_index=-100, reduction="sum").cpu()
        done = start + len(ids) - 1
        if done == n - 1:
            break
    return float(nll), n - 1


def perplexity(nll, count):
    if not count >= 1:
        raise ValueError("count")
    return float(torch.tensor(nll / count, dtype=torch.float64).exp())


def bits_per_byte(nll, num_bytes):
    if not num_bytes >= 1:
        raise ValueError("num_bytes")
    return nll * math.log2(math.e) / num_bytes


def choice_scores(model, context, choices, lengths=None):
    if not len(choices):
        raise ValueError("no choices")
    if not len(context) or not all(len(c) for c in choices):
        raise ValueError("empty")
    if lengths is not None and (len(lengths) != len(choices) or not all(n > 0 for n in lengths)):
        raise ValueError("lengths")
    model = _frozen(model)
    scores = torch.empty(len(choices), dtype=torch.float64)
    for i, choice in enumerate(choices):
        m = len(choice)
        logits = model(torch.cat([context, choice]).view(1, -1))[:, -m - 1 : -1].double()
        scores[i] = -F.cross_entropy(logits.transpose(1, 2), choice[None], reduction="sum")
    if lengths is not None:
        scores /= torch.as_tensor(lengths)
    return scores


def choose(model, context, choices, lengths=None):
    s = choice_scores(model, context, choices, lengths)
    return int((s == s.max()).nonzero()[0])


def pass_at_k(counts, k):
    if not len(counts):
        raise ValueError("none")
    total = 0.0
    for n, c in counts:
        if not (0 <= c <= n and 1 <= k <= n):
            raise ValueError((n, c, k))
        if n - c >= k:
            i = torch.arange(n - c + 1, n + 1, dtype=torch.float64)
            total -= float(torch.prod(1 - k / i))
        total += 1.0
    return total / len(counts)


def _d(a, b):
    if a.shape != b.shape or a.numel() < 2:
        raise ValueError("a, b")
    return (a - b).to(torch.float64)


def paired_difference(a, b):
    d = _d(a, b)
    var, mean = torch.var_mean(d, correction=1)
    return float(mean), float((var / d.numel()).sqrt())


def paired_bootstrap(a, b, samples, generator, confidence=0.95):
    d = _d(a, b)
    if samples < 1 or confidence <= 0 or confidence >= 1:
        raise ValueError("arguments")
    n = d.numel()
    means = []
    left = samples
    while left > 0:
        m = min(left, 64)
        u = torch.rand(m, n, generator=generator, dtype=torch.float64)
        idx = (u * n).long().clamp(max=n - 1)
        w = torch.zeros(m, n, dtype=torch.float64).scatter_add_(1, idx, torch.ones(m, n, dtype=torch.float64))
        means.append(w @ d / n)
        left -= m
    means = torch.cat(means)
    return tuple(means.quantile(q).item() for q in ((1 - confidence) / 2, (1 + confidence) / 2))
