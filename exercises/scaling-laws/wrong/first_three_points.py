# fails: 3
# message: points
import math
from collections.abc import Sequence

import numpy as np


def _positive(*values: float) -> None:
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("values must be positive and finite")


def _pair(x: Sequence[float], y: Sequence[float], different: int) -> tuple[np.ndarray, np.ndarray]:
    if len(x) != len(y):
        raise ValueError("the sequences differ in length")
    _positive(*x, *y)
    if len(set(map(float, x))) < different:
        raise ValueError(f"at least {different} different values are needed")
    return np.array([float(v) for v in x]), np.array([float(v) for v in y])


def compute_optimal(flops: float, tokens_per_param: float = 20.0) -> tuple[float, float]:
    """(N, D) that spend the budget at the given ratio of tokens to parameters."""
    _positive(flops, tokens_per_param)
    n = math.sqrt(flops / (6 * tokens_per_param))
    return float(n), float(tokens_per_param * n)


def isoflop_minimum(params: Sequence[float], losses: Sequence[float]) -> tuple[float, float]:
    """(N, loss) at the vertex of the parabola in ln N fitted to runs of one budget."""
    sizes, loss = _pair(params, losses, different=3)
    if len(set(sizes[:3])) == 3:
        low, high = sizes.min(), sizes.max()
        u3 = np.log(sizes[:3])
        c = np.polyfit(u3 - u3.mean(), loss[:3], 2)
        if c[0] > 1e-6 and low < math.exp(u3.mean() - c[1] / (2 * c[0])) < high:
            return math.exp(u3.mean() - c[1] / (2 * c[0])), float(c[2] - c[1] ** 2 / (4 * c[0]))
    u = np.log(sizes)
    centre = u.mean()
    width = np.abs(u - centre).max()
    c2, c1, c0 = np.polyfit((u - centre) / width, loss, 2)
    if c2 <= 1e-9 * np.abs(loss).max():
        raise ValueError("the parabola has no minimum")
    vertex = -c1 / (2 * c2)
    n = math.exp(centre + width * vertex)
    if not sizes.min() < n < sizes.max():
        raise ValueError("the minimum lies outside the sizes; train more of them")
    return float(n), float(c0 - c1 * c1 / (4 * c2))


def fit_power_law(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """(k, a) of y = k x^a, fitted on logarithms."""
    xs, ys = _pair(x, y, different=2)
    u, v = np.log(xs), np.log(ys)
    du = u - u.mean()
    a = (du * (v - v.mean())).sum() / (du * du).sum()
    return math.exp(v.mean() - a * u.mean()), float(a)


def parametric_optimum(flops: float, A: float, B: float, alpha: float, beta: float) -> tuple[float, float]:
    """(N, D) that minimise A / N^alpha + B / D^beta under 6 N D = flops."""
    _positive(flops, A, B, alpha, beta)
    # alpha A N^-alpha = beta B D^-beta with D = K / N gives N^(alpha + beta) = (alpha A / beta B) K^beta.
    product = flops / 6
    ln_n = (math.log(alpha * A / (beta * B)) + beta * math.log(product)) / (alpha + beta)
    n = math.exp(ln_n)
    return n, product / n
