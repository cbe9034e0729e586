import math

import torch


def _tensor(values):
    t = torch.tensor([float(v) for v in values], dtype=torch.float64)
    if not bool((torch.isfinite(t) & (t > 0)).all()):
        raise ValueError("positive finite numbers are needed")
    return t


def _design(u, degree):
    return torch.stack([u**i for i in range(degree + 1)], dim=1)


def compute_optimal(flops: float, tokens_per_param: float = 20.0) -> tuple[float, float]:
    _tensor([flops, tokens_per_param])
    d = math.sqrt(flops * tokens_per_param / 6)
    return d / tokens_per_param, d


def isoflop_minimum(params, losses):
    n, y = _tensor(params), _tensor(losses)
    if n.numel() != y.numel() or n.unique().numel() < 3:
        raise ValueError("need matching losses for at least three sizes")
    u = n.log()
    shift = u.mean()
    scale = (u - shift).std()
    z = (u - shift) / scale
    c = torch.linalg.lstsq(_design(z, 2), y[:, None]).solution.flatten()
    if c[2] < 1e-10:
        raise ValueError("no minimum")
    at = -c[1] / (2 * c[2])
    if at <= z.min() or at >= z.max():
        raise ValueError("vertex outside the sizes")
    best = c[0] + c[1] * at + c[2] * at * at
    return math.exp((shift + scale * at).item()), best.item()


def fit_power_law(x, y):
    xs, ys = _tensor(x), _tensor(y)
    if xs.numel() != ys.numel() or xs.unique().numel() < 2:
        raise ValueError("need matching y for at least two x")
    c = torch.linalg.lstsq(_design(xs.log(), 1), ys.log()[:, None]).solution.flatten()
    return c[0].exp().item(), c[1].item()


def parametric_optimum(flops, A, B, alpha, beta):
    _tensor([flops, A, B, alpha, beta])
    ln_d = (math.log(beta * B / (alpha * A)) + alpha * math.log(flops / 6)) / (alpha + beta)
    d = math.exp(ln_d)
    return flops / 6 / d, d
