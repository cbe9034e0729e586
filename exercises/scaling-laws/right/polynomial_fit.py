from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Budget(NamedTuple):
    params: float
    tokens: float


class Minimum(NamedTuple):
    params: float
    loss: float


class PowerLaw(NamedTuple):
    k: float
    a: float

    def __call__(self, x: float) -> float:
        return self.k * x**self.a


def _positive(name: str, values: Iterable[float]) -> NDArray[np.float64]:
    array = np.array(list(values), dtype=np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(f"{name} must be positive and finite")
    return array


def _pairs(x: Sequence[float], y: Sequence[float], need: int):
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} values")
    ax, ay = _positive("x", x), _positive("y", y)
    if np.unique(ax).size < need:
        raise ValueError(f"at least {need} different sizes are needed")
    return np.log(ax), ay


def compute_optimal(flops: float, tokens_per_param: float = 20.0) -> Budget:
    _positive("budget", (flops, tokens_per_param))
    n = np.sqrt(np.float64(flops) / 6.0 / tokens_per_param)
    return Budget(float(n), float(n * tokens_per_param))


def isoflop_minimum(params: Sequence[float], losses: Sequence[float], *, rtol: float = 1e-10) -> Minimum:
    x, y = _pairs(params, losses, 3)
    poly = np.polynomial.Polynomial.fit(x, y, 2)
    c0, c1, c2 = poly.coef if len(poly.coef) == 3 else (*poly.coef, 0.0)
    if c2 <= rtol * np.abs(y).max():
        raise ValueError("the curve has no minimum")
    inside = -c1 / (2 * c2)
    if not -1.0 < inside < 1.0:
        raise ValueError("the minimum lies beyond the runs")
    lo, hi = poly.domain
    at = lo + (inside + 1) / 2 * (hi - lo)
    return Minimum(float(np.exp(at)), float(c0 - c1 * c1 / (4 * c2)))


def fit_power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    lx, ay = _pairs(x, y, 2)
    ly = np.log(ay)
    design = np.stack([np.ones_like(lx), lx - lx.mean()], axis=1)
    (b, a), *_ = np.linalg.lstsq(design, ly, rcond=None)
    return PowerLaw(float(np.exp(b - a * lx.mean())), float(a))


def parametric_optimum(flops: float, A: float, B: float, alpha: float, beta: float) -> Budget:
    c, la, lb, al, be = _positive("arguments", (flops, A, B, alpha, beta))
    log_nd = np.log(c) - np.log(6.0)
    log_n = (np.log(al) + np.log(la) - np.log(be) - np.log(lb) + be * log_nd) / (al + be)
    return Budget(float(np.exp(log_n)), float(np.exp(log_nd - log_n)))
