"""Computed claims of the scaling questions."""

import math

import pytest

E0, A, B, ALPHA, BETA = 1.69, 406.4, 410.7, 0.34, 0.28


def _loss(params: float, tokens: float) -> float:
    return E0 + A / params**ALPHA + B / tokens**BETA


def _best_size(compute: float) -> float:
    """Minimise the parametric loss at fixed 6 P D by golden-section search in log P."""
    low, high = math.log(1e7), math.log(1e13)
    ratio = (math.sqrt(5) - 1) / 2

    def f(x: float) -> float:
        return _loss(math.exp(x), compute / 6 / math.exp(x))

    for _ in range(120):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if f(left) < f(right) else (left, high)
    return math.exp((low + high) / 2)


def test_rule_of_twenty() -> None:
    """scaling-laws-chinchilla, -optimal-size, -optimal-tokens: 10^23 FLOP gives 28.9B and 577B."""
    params = math.sqrt(1e23 / 120)
    tokens = 20 * params
    assert params == pytest.approx(28.9e9, rel=0.002)
    assert tokens == pytest.approx(577e9, rel=0.001)
    assert 6 * params * tokens == pytest.approx(1e23)
    assert math.sqrt(4e23 / 120) == pytest.approx(2 * params)


def test_chinchilla_and_gopher_compute() -> None:
    """scaling-laws-chinchilla: about the same compute, within the accuracy of 6 P D."""
    chinchilla, gopher = 6 * 70e9 * 1.4e12, 6 * 280e9 * 300e9
    assert chinchilla == pytest.approx(5.76e23, rel=0.03)
    assert gopher / chinchilla == pytest.approx(1, abs=0.15)
    assert _loss(70e9, 1.4e12) < _loss(280e9, 300e9)


def test_parametric_fit_gives_other_ratios() -> None:
    """scaling-laws-chinchilla: about 50 tokens per parameter at 1e21 and 78 at 1e23."""
    for compute, ratio in ((1e21, 50), (1e23, 78)):
        params = _best_size(compute)
        assert compute / 6 / params / params == pytest.approx(ratio, abs=0.5)


def test_optimum_is_shallow() -> None:
    """inference-aware-overtraining: 0.2 to 0.6 % for a factor of two, 0.8 to 2.6 % for four."""
    rises: dict[float, list[float]] = {2: [], 4: []}
    for exponent in (21, 22, 23, 24, 25):
        compute = 10.0**exponent
        params = _best_size(compute)
        best = _loss(params, compute / 6 / params)
        for factor, seen in rises.items():
            for size in (params / factor, params * factor):
                seen.append(100 * (_loss(size, compute / 6 / size) / best - 1))
    assert [round(min(rises[2]), 1), round(max(rises[2]), 1)] == [0.2, 0.6]
    assert [round(min(rises[4]), 1), round(max(rises[4]), 1)] == [0.8, 2.6]


def test_half_the_size_needs_more_than_twice_the_tokens() -> None:
    """inference-aware-overtraining: same loss with half the parameters, at and beyond the optimum."""
    for compute in (1e21, 1e23, 1e25):
        params = _best_size(compute)
        tokens = compute / 6 / params
        for p, d in ((params, tokens), (params / 2, 4 * tokens)):
            term = _loss(p, d) - E0 - A / (p / 2) ** ALPHA
            assert term > 0
            assert (B / term) ** (1 / BETA) > 2 * d


def test_training_and_serving_break_even() -> None:
    """inference-aware-overtraining, -break-even, -tokens-per-parameter."""
    for tokens in (300e9, 2e12):
        assert 6 * 7e9 * tokens == 2 * 7e9 * (3 * tokens)
    assert pytest.approx(286, abs=0.5) == 2e12 / 7e9
    assert 15e12 / 8e9 == 1875


def test_time_examples() -> None:
    """training-time-and-cost: 19.2 days, 43.5 % and 22.4 %."""
    flop = 6 * 7e9 * 1e12
    seconds = flop / (64 * 989e12 * 0.4)
    assert flop == pytest.approx(4.2e22)
    assert seconds == pytest.approx(1.66e6, rel=0.002)
    assert seconds / 86400 == pytest.approx(19.2, abs=0.05)
    assert pytest.approx(0.435, abs=0.0005) == 6 * 70e9 * 2e12 / (1_720_320 * 3600 * 312e12)
    assert pytest.approx(0.224, abs=0.0005) == 6 * 70e9 * 1.4e12 / (1024 * 989e12 * 30 * 86400)


def test_gpu_hours_do_not_depend_on_the_number_of_gpus() -> None:
    """training-time-and-cost-gpu-hours."""
    hours = [g * (6 * 7e9 * 3e11 / (g * 312e12 * 0.3)) / 3600 for g in (8, 64, 1024)]
    assert hours == pytest.approx([37393.2] * 3, rel=1e-5)


def test_predicted_losses() -> None:
    """scaling-laws-chinchilla-predicted-loss: range of the card."""
    assert _loss(1e9, 20e9) == pytest.approx(2.58, abs=0.001)
    assert _loss(70e9, 1.4e12) == pytest.approx(1.937, abs=0.001)
