from math import exp, fsum, isfinite, log


def check(values):
    for value in values:
        if not (isfinite(value) and value > 0):
            raise ValueError(f"{value} is not positive and finite")


def compute_optimal(flops, tokens_per_param=20.0):
    check([flops, tokens_per_param])
    n = (flops / 6.0 / tokens_per_param) ** 0.5
    return n, flops / 6.0 / n


def isoflop_minimum(params, losses):
    if len(params) != len(losses):
        raise ValueError("lengths differ")
    check(params)
    check(losses)
    if len(set(params)) < 3:
        raise ValueError("three sizes are needed")
    logs = [log(n) for n in params]
    mean = fsum(logs) / len(logs)
    x = [u - mean for u in logs]
    # Orthogonal polynomials 1, x, x^2 - p x - q: three independent projections.
    s2, s3 = fsum(v * v for v in x), fsum(v**3 for v in x)
    q, p = s2 / len(x), s3 / s2
    quad = [v * v - p * v - q for v in x]
    c2 = fsum(a * b for a, b in zip(quad, losses)) / fsum(a * a for a in quad)
    c1 = fsum(a * b for a, b in zip(x, losses)) / s2
    c0 = fsum(losses) / len(losses)
    if c2 * q < 1e-9 * max(losses):
        raise ValueError("no minimum")
    vertex = p / 2 - c1 / (2 * c2)
    if not min(x) < vertex < max(x):
        raise ValueError("outside the runs")
    return exp(mean + vertex), c0 + c1 * vertex + c2 * (vertex * vertex - p * vertex - q)


def fit_power_law(x, y):
    if len(x) != len(y):
        raise ValueError("lengths differ")
    check(x)
    check(y)
    if len(set(x)) < 2:
        raise ValueError("two sizes are needed")
    u, v = [log(t) for t in x], [log(t) for t in y]
    mu, mv = fsum(u) / len(u), fsum(v) / len(v)
    a = fsum((s - mu) * (t - mv) for s, t in zip(u, v)) / fsum((s - mu) ** 2 for s in u)
    return exp(mv - a * mu), a


def parametric_optimum(flops, A, B, alpha, beta):
    check([flops, A, B, alpha, beta])
    g = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    n = g * (flops / 6) ** (beta / (alpha + beta))
    d = (flops / 6) ** (alpha / (alpha + beta)) / g
    return n, d
