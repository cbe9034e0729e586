"""Computed claims of content/questions/lr-schedules.yaml."""

import math
import random
import warnings

import pytest
import torch
from torch.optim import SGD, Adam
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LRScheduler,
    MultiStepLR,
    OneCycleLR,
    ReduceLROnPlateau,
    StepLR,
)


def _param(value: float = 1.0) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.tensor([value], dtype=torch.float64))


def _rates(optimizer: torch.optim.Optimizer, scheduler: LRScheduler, steps: int) -> list[float]:
    """Rate used by each of the updates 0 .. steps-1."""
    used = []
    for _ in range(steps):
        used.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return used


def _half_cosine(p: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * p))


def test_constant_rate_has_a_noise_floor_that_grows_with_the_rate() -> None:
    """lr-schedule-definition: SGD on a noisy quadratic stalls at a level that rises with η."""

    def stationary_square(eta: float) -> float:
        rng = random.Random(0)
        x, total = 0.0, 0.0
        for t in range(20_000):
            x -= eta * (x + rng.gauss(0, 1))
            total += x * x if t >= 2_000 else 0.0
        return total / 18_000

    large, small = stationary_square(0.2), stationary_square(0.02)
    assert 8 < large / small < 14  # η/(2−η): 0.111 against 0.0101


def test_step_decay_rate_at_epoch_75() -> None:
    """step-decay, step-decay-rate-at-epoch."""
    optimizer = SGD([_param()], lr=0.1)
    rates = _rates(optimizer, MultiStepLR(optimizer, [30, 60, 90], gamma=0.1), 96)
    assert rates[75] == pytest.approx(0.001)
    assert rates[10] == pytest.approx(0.1)
    assert rates[95] == pytest.approx(1e-4)


def test_exponential_decay_factor_and_half_life() -> None:
    """exponential-decay and its cards."""
    gamma = 0.01 ** (1 / 100)
    assert gamma == pytest.approx(0.955, abs=5e-4)
    optimizer = SGD([_param()], lr=1.0)
    rates = _rates(optimizer, ExponentialLR(optimizer, gamma), 101)
    assert rates[100] == pytest.approx(0.01, rel=1e-6)
    assert round(math.log(0.5) / math.log(0.99)) == 69
    assert pytest.approx(0.006, abs=5e-4) == 0.95**100
    k = -math.log(0.95)
    assert math.exp(-k * 17) == pytest.approx(0.95**17)


def test_cosine_shape_and_rise_after_the_end() -> None:
    """cosine-annealing, cosine-annealing-steepest-point."""
    optimizer = SGD([_param()], lr=1.0)
    rates = _rates(optimizer, CosineAnnealingLR(optimizer, 100), 160)
    for step, left in ((10, 0.976), (25, 0.854), (50, 0.5), (75, 0.146), (90, 0.024)):
        assert rates[step] == pytest.approx(left, abs=6e-4)
    drops = [rates[i] - rates[i + 1] for i in range(100)]
    assert drops.index(max(drops)) in (49, 50)
    assert rates[150] == pytest.approx(0.5)  # periodic: climbs again past T


def test_first_adam_step_is_about_eta_for_any_gradient() -> None:
    """lr-warmup, lr-warmup-tiny-gradient, lr-warmup-three-gradients."""
    for g in (1e-6, 1e-3, 1.0, 1e3, 1e6):
        x = _param()
        x.grad = torch.full_like(x, g)
        Adam([x], lr=1e-3).step()
        assert 1 - x.item() == pytest.approx(1e-3, rel=0.011)


def test_uncorrected_first_adam_step_overshoots() -> None:
    """lr-warmup: without bias correction the first step is 3.16 η."""
    g = 0.7
    assert (0.1 * g) / math.sqrt(0.001 * g * g) == pytest.approx(3.162, abs=1e-3)


def test_epsilon_shortens_the_uncorrected_step_of_a_tiny_gradient() -> None:
    """lr-warmup-tiny-gradient: 2.4 η for g = 1e-6, not 3.16 η."""
    g = 1e-6
    assert (0.1 * g) / (math.sqrt(0.001 * g * g) + 1e-8) == pytest.approx(2.40, abs=0.01)


def _multiplier(t: int, t_w: int = 10, total: int = 100, f: float = 0.1) -> float:
    if t < t_w:
        return (t + 1) / t_w
    p = min(1.0, (t - t_w) / max(1, total - t_w))
    return f + (1 - f) * _half_cosine(p)


def test_warmup_cosine_lambda() -> None:
    """warmup-cosine-implementation and its cards."""
    optimizer = SGD([_param()], lr=2.0)
    scheduler = LambdaLR(optimizer, _multiplier)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.2)  # step 0 applied at construction
    rates = _rates(optimizer, scheduler, 130)
    assert max(rates) == pytest.approx(2.0)
    assert rates[55] == pytest.approx(2.0 * 0.55)  # halfway with a 10% floor
    assert rates[129] == pytest.approx(0.2)  # clamped
    assert scheduler.state_dict()["lr_lambdas"] == [None]  # plain functions are not stored
    assert "last_epoch" in scheduler.state_dict()


def test_unclamped_cosine_and_truncating_floor() -> None:
    """warmup-cosine-implementation: values past T, and max(f, cosine) reaching the floor at step 82."""

    def raw(t: int) -> float:
        return _half_cosine((t - 10) / 90)

    assert raw(145) == pytest.approx(0.5)
    assert raw(190) == pytest.approx(1.0)
    assert next(t for t in range(10, 100) if raw(t) <= 0.1) == 82
    assert all(max(0.1, raw(t)) == 0.1 for t in range(82, 101))
    assert all(_multiplier(t) > 0.1 for t in range(82, 100))


def test_first_update_with_t_over_warmup_moves_nothing() -> None:
    """warmup-cosine-implementation-first-update."""
    x = _param()
    x.grad = torch.ones_like(x)
    optimizer = SGD([x], lr=1.0)
    LambdaLR(optimizer, lambda t: min(1.0, t / 100))
    optimizer.step()
    assert x.item() == 1.0
    LambdaLR(SGD([x], lr=1.0), lambda t: (t + 1) / 100)
    optimizer = SGD([x], lr=1.0)
    assert LambdaLR(optimizer, lambda t: (t + 1) / 100).get_last_lr() == [pytest.approx(0.01)]


def test_scheduler_before_optimizer_warns() -> None:
    """warmup-cosine-implementation: the wrong order is warned about."""
    optimizer = SGD([_param()], lr=0.1)
    scheduler = StepLR(optimizer, 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler.step()
    assert any("before `optimizer.step()`" in str(w.message) for w in caught)


def test_one_cycle_defaults() -> None:
    """one-cycle-policy."""
    optimizer = SGD([_param()], lr=0.1, momentum=0.9)
    scheduler = OneCycleLR(optimizer, 1.0, total_steps=100)
    seen = []
    for i in range(100):
        group = optimizer.param_groups[0]
        seen.append((group["lr"], group["momentum"]))
        optimizer.step()
        if i < 99:
            scheduler.step()
    assert seen[0] == (pytest.approx(0.04), pytest.approx(0.95))
    assert seen[-1] == (pytest.approx(4e-6), pytest.approx(0.95))
    peak = max(range(100), key=lambda i: seen[i][0])
    assert seen[peak] == (pytest.approx(1.0), pytest.approx(0.85))
    assert 28 <= peak <= 30
    scheduler.step()
    with pytest.raises(ValueError, match="total steps"):
        scheduler.step()


def test_range_test_grid_is_even_on_a_log_scale() -> None:
    """lr-range-test, lr-range-test-rate-at-step."""
    grid = [1e-7 * (10 / 1e-7) ** (i / 100) for i in range(101)]
    assert grid[50] == pytest.approx(1e-3)
    steps = [math.log(grid[i + 1] / grid[i]) for i in range(100)]
    assert max(steps) - min(steps) < 1e-9


def test_linear_scaling_matches_k_small_steps_only_for_small_rates() -> None:
    """linear-scaling-rule: k steps of η against one of k·η on a quadratic."""
    k = 8

    def gap(eta: float) -> float:
        return abs((1 - eta) ** k - (1 - k * eta))

    assert gap(0.001) < 1e-4
    assert gap(0.2) > 0.5
    assert pytest.approx(3.2) == 0.1 * 8192 / 256
    assert 3e-4 * math.sqrt(1024 / 256) == pytest.approx(6e-4)


def test_beta2_to_the_k_keeps_the_half_life_in_samples() -> None:
    """linear-scaling-rule-beta2-half-life."""
    for beta, k in ((0.95, 4), (0.999, 8)):
        before = math.log(0.5) / math.log(beta)
        after = k * math.log(0.5) / math.log(beta**k)
        assert before == pytest.approx(after)


def test_reduce_on_plateau_trace_and_count() -> None:
    """reduce-lr-on-plateau, reduce-lr-on-plateau-number-of-cuts."""
    optimizer = SGD([_param()], lr=1.0)
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    trace = []
    for _ in range(7):
        scheduler.step(1.0)
        trace.append(optimizer.param_groups[0]["lr"])
    assert trace == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]
    for patience in (1, 2, 3, 4):
        for calls in (7, 13, 21):
            optimizer = SGD([_param()], lr=1.0)
            scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=patience)
            for _ in range(calls):
                scheduler.step(1.0)
            cuts = round(-math.log2(optimizer.param_groups[0]["lr"]))
            assert cuts == (calls - 1) // (patience + 1)


def test_cosine_floor_midpoint() -> None:
    """lr-floor, lr-floor-cosine-midpoint."""
    optimizer = SGD([_param()], lr=3e-4)
    rates = _rates(optimizer, CosineAnnealingLR(optimizer, 100, eta_min=3e-5), 51)
    assert rates[50] == pytest.approx(1.65e-4)


def test_adam_rms_on_pure_noise() -> None:
    """adam-needs-schedule, adam-needs-schedule-noise-rms."""
    rng = random.Random(1)
    m = v = total = 0.0
    for t in range(60_000):
        g = rng.gauss(0, 1)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        total += m * m / v if t >= 10_000 else 0.0
    assert math.sqrt(total / 50_000) == pytest.approx(math.sqrt(0.1 / 1.9), rel=0.03)
    assert math.sqrt(0.1 / 1.9) == pytest.approx(0.229, abs=5e-4)


def test_adam_step_does_not_shrink_with_the_gradient() -> None:
    """adam-needs-schedule: gradients a million times smaller, same step."""
    moved = []
    for scale in (1.0, 1e-6):
        x = _param()
        optimizer = Adam([x], lr=1e-3, eps=1e-16)
        for t in range(50):
            x.grad = torch.full_like(x, scale * (1 + 0.1 * math.sin(t)))
            optimizer.step()
        moved.append(1 - x.item())
    assert moved[0] == pytest.approx(moved[1], rel=1e-6)


@pytest.mark.parametrize(("t0", "expected"), [(10, [10, 30, 70]), (5, [5, 15, 35, 75])])
def test_warm_restart_epochs(t0: int, expected: list[int]) -> None:
    """sgdr-warm-restarts, sgdr-warm-restarts-kth-restart."""
    optimizer = SGD([_param()], lr=1.0)
    rates = _rates(optimizer, CosineAnnealingWarmRestarts(optimizer, t0, 2), 80)
    assert [i for i, r in enumerate(rates) if i and r == 1.0] == expected


def test_random_search_draws() -> None:
    """lr-search-grid-random, lr-search-grid-random-draws-needed."""
    n = math.log(0.05) / math.log(0.95)
    assert n == pytest.approx(58.4, abs=0.05)
    assert 1 - 0.95**59 >= 0.95 > 1 - 0.95**58
    rng = random.Random(0)
    above = sum(rng.uniform(1e-5, 1e-1) > 1e-2 for _ in range(20_000)) / 20_000
    assert above == pytest.approx(0.9, abs=0.01)


def test_step_lr_per_batch_collapses() -> None:
    """scheduler-placement, scheduler-placement-frozen-loss."""
    optimizer = SGD([_param()], lr=0.1)
    rates = _rates(optimizer, StepLR(optimizer, 30, 0.1), 301)
    assert rates[300] / rates[0] == pytest.approx(1e-10)


def test_lambda_lr_discards_a_manual_rate() -> None:
    """scheduler-placement: a hand-set rate survives only until the next LambdaLR step."""
    optimizer = SGD([_param()], lr=0.1)
    scheduler = LambdaLR(optimizer, lambda t: 1.0)
    optimizer.param_groups[0]["lr"] = 0.01
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_accumulation_counts_updates() -> None:
    """scheduler-placement-accumulation-steps: count the updates of a real loop."""
    updates = 0
    for _epoch in range(3):
        for i in range(1000):
            if (i + 1) % 4 == 0:
                updates += 1
    assert updates == 750
