from collections.abc import Sequence


def compute_optimal(
    flops: float,
    tokens_per_param: float = 20.0,
) -> tuple[float, float]:
    """(N, D) that spend the budget at the given ratio of tokens to
    parameters.
    """
    raise NotImplementedError


def isoflop_minimum(
    params: Sequence[float],
    losses: Sequence[float],
) -> tuple[float, float]:
    """(N, loss) at the vertex of the parabola in ln N fitted to runs of one
    budget.
    """
    raise NotImplementedError


def fit_power_law(
    x: Sequence[float],
    y: Sequence[float],
) -> tuple[float, float]:
    """(k, a) of y = k x^a, fitted on logarithms."""
    raise NotImplementedError


def parametric_optimum(
    flops: float,
    A: float,
    B: float,
    alpha: float,
    beta: float,
) -> tuple[float, float]:
    """(N, D) that minimise A / N^alpha + B / D^beta under 6 N D = flops."""
    raise NotImplementedError
