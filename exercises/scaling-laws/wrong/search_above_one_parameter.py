# fails: 6
# message: does not minimize
import math


def _check(*values):
    for v in values:
        if not math.isfinite(v) or v <= 0:
            raise ValueError(f"{v} is not positive and finite")


def compute_optimal(flops, tokens_per_param=20.0):
    _check(flops, tokens_per_param)
    n = math.sqrt(flops / (6 * tokens_per_param))
    return float(n), float(tokens_per_param * n)


def _solve3(m, b):
    m = [row[:] + [x] for row, x in zip(m, b)]
    for i in range(3):
        p = max(range(i, 3), key=lambda r: abs(m[r][i]))
        m[i], m[p] = m[p], m[i]
        for r in range(3):
            if r != i:
                f = m[r][i] / m[i][i]
                m[r] = [a - f * c for a, c in zip(m[r], m[i])]
    return [m[i][3] / m[i][i] for i in range(3)]


def isoflop_minimum(params, losses):
    if len(params) != len(losses):
        raise ValueError("lengths differ")
    _check(*params)
    _check(*losses)
    if len(set(params)) < 3:
        raise ValueError("need three sizes")
    x = [math.log(p) for p in params]
    mean = sum(x) / len(x)
    span = max(abs(v - mean) for v in x)
    u = [(v - mean) / span for v in x]
    y0 = sum(losses) / len(losses)
    y = [l - y0 for l in losses]
    m = [[sum(v ** (i + j) for v in u) for j in range(3)] for i in range(3)]
    b = [sum(w * v**i for v, w in zip(u, y)) for i in range(3)]
    c0, c1, c2 = _solve3(m, b)
    scale = max(abs(v) for v in losses)
    if c2 <= 1e-12 * scale:
        raise ValueError("no minimum")
    v = -c1 / (2 * c2)
    if not min(u) < v < max(u):
        raise ValueError("the vertex lies outside")
    return math.exp(mean + span * v), c0 + c1 * v + c2 * v * v + y0


def fit_power_law(x, y):
    if len(x) != len(y):
        raise ValueError("lengths differ")
    _check(*x)
    _check(*y)
    if len(set(x)) < 2:
        raise ValueError("need two different x")
    lx = [math.log(v) for v in x]
    ly = [math.log(v) for v in y]
    mx = sum(lx) / len(lx)
    my = sum(ly) / len(ly)
    a = sum((p - mx) * (q - my) for p, q in zip(lx, ly)) / sum((p - mx) ** 2 for p in lx)
    return math.exp(my - a * mx), a


def parametric_optimum(flops, A, B, alpha, beta):
    _check(flops, A, B, alpha, beta)
    lo, hi = 0.0, math.log(flops / 6)
    for _ in range(300):
        t = (lo + hi) / 2
        d = -alpha * A * math.exp(-alpha * t) + beta * B * math.exp(-beta * (math.log(flops / 6) - t))
        lo, hi = (t, hi) if d < 0 else (lo, t)
    n = math.exp((lo + hi) / 2)
    return n, flops / (6 * n)
