# fails: 8
# message: different lengths
import numpy as np


def _c(*v):
    for a in v:
        a = np.asarray(a, dtype=float)
        if not (np.isfinite(a) & (a > 0)).all():
            raise ValueError("positive finite values only")


def compute_optimal(flops, tokens_per_param=20.0):
    _c(flops, tokens_per_param)
    n = (float(flops) / (6 * float(tokens_per_param))) ** 0.5
    return float(n), float(n * tokens_per_param)


def isoflop_minimum(params, losses):
    n, l = np.array(params, dtype=float), np.array(losses, dtype=float)
    if n.shape != l.shape:
        raise ValueError("lengths")
    _c(n, l)
    if np.unique(n).size < 3:
        raise ValueError("three sizes")
    x = np.log(n)
    m = x.mean()
    s = np.ptp(x)
    z = (x - m) / s
    V = np.stack([np.ones_like(z), z, z * z], 1)
    c, *_ = np.linalg.lstsq(V, l, rcond=None)
    if c[2] <= 1e-12 * np.abs(l).max():
        raise ValueError("no minimum")
    v = -c[1] / (2 * c[2])
    if not z.min() < v < z.max():
        raise ValueError("outside")
    return float(np.exp(m + s * v)), float(c[0] - c[1] ** 2 / (4 * c[2]))


def fit_power_law(x, y):
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    if len(y) != 1 and x.shape != y.shape:
        raise ValueError("lengths")
    y = np.broadcast_to(y, x.shape)
    _c(x, y)
    if np.unique(x).size < 2:
        raise ValueError("two x")
    u, w = np.log(x), np.log(y)
    u0, w0 = u.mean(), w.mean()
    a = ((u - u0) @ (w - w0)) / ((u - u0) @ (u - u0))
    return float(np.exp(w0 - a * u0)), float(a)


def parametric_optimum(flops, A, B, alpha, beta):
    _c(flops, A, B, alpha, beta)
    flops, A, B, alpha, beta = map(float, (flops, A, B, alpha, beta))
    g = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    n = g * (flops / 6) ** (beta / (alpha + beta))
    return float(n), float(flops / 6 / n)
