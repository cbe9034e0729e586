import math
from fractions import Fraction

import torch


def _good(values):
    out = [float(v) for v in values]
    for v in out:
        if not (v > 0) or v == math.inf:
            raise ValueError(v)
    return out


def compute_optimal(flops, tokens_per_param=20.0):
    c, r = _good([flops, tokens_per_param])
    d = math.exp(0.5 * (math.log(c) + math.log(r) - math.log(6)))
    return d / r, d


def isoflop_minimum(params, losses):
    """Discrete orthogonal polynomials in ln N, in exact fractions."""
    n, y = _good(params), _good(losses)
    if len(n) != len(y):
        raise ValueError("lengths")
    if len(set(n)) < 3:
        raise ValueError("three sizes")
    x = [Fraction(math.log(v)) for v in n]
    y = [Fraction(v) for v in y]
    k = len(x)
    mean = sum(x) / k
    u = [v - mean for v in x]
    s2 = sum(v * v for v in u)
    skew = sum(v**3 for v in u) / s2
    p2 = [v * v - skew * v - s2 / k for v in u]
    n2 = sum(p * p for p in p2)
    if n2 == 0:
        raise ValueError("sizes too close")
    a0 = sum(y) / k
    a1 = sum(p * q for p, q in zip(u, y)) / s2
    a2 = sum(p * q for p, q in zip(p2, y)) / n2
    span = max(u) - min(u)
    if float(a2 * span * span) <= 1e-11 * float(max(y)):
        raise ValueError("no minimum")
    at = skew / 2 - a1 / (2 * a2)
    if not min(u) < at < max(u):
        raise ValueError("outside")
    return math.exp(float(mean + at)), float(a0 + a1 * at + a2 * (at * at - skew * at - s2 / k))


def fit_power_law(x, y):
    x, y = _good(x), _good(y)
    if len(x) != len(y):
        raise ValueError("lengths")
    if len(set(x)) < 2:
        raise ValueError("two x")
    lx, ly = torch.tensor(x, dtype=torch.float64).log2(), torch.tensor(y, dtype=torch.float64).log2()
    c = lx - lx.mean()
    a = ((c * (ly - ly.mean())).sum() / c.square().sum()).item()
    return 2.0 ** (ly.mean() - a * lx.mean()).item(), a


def parametric_optimum(flops, A, B, alpha, beta):
    c, a, b, al, be = _good([flops, A, B, alpha, beta])
    s = al + be
    n = (al * a / (be * b)) ** (1 / s) * (c / 6) ** (be / s)
    d = (be * b / (al * a)) ** (1 / s) * (c / 6) ** (al / s)
    return n, d
