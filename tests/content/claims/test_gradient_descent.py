"""Computed claims of content/questions/gradient-descent.yaml."""

import math
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adam


def _descend(a: float, eta: float, start: float, steps: int) -> list[float]:
    path = [start]
    for _ in range(steps):
        path.append(path[-1] - eta * a * path[-1])
    return path


def test_quadratic_contraction() -> None:
    """gradient-descent-update-quadratic-steps."""
    path = _descend(10, 0.19, 1.0, 50)
    assert path[50] == pytest.approx((1 - 1.9) ** 50) == pytest.approx(0.00515, rel=1e-3)


def test_stability_regimes_on_a_quadratic() -> None:
    """gradient-descent-update-largest-rate, learning-rate-too-large-or-small and card."""
    below = _descend(10, 0.09, 1.0, 60)
    between = _descend(10, 0.19, 1.0, 200)
    above = _descend(10, 0.21, 1.0, 60)
    limit = _descend(10, 0.2, 1.0, 10)
    assert all(x > 0 for x in below)
    assert below[-1] < 1e-6
    assert between[1] < 0 < between[2]
    assert abs(between[-1]) < 1e-6
    assert above[1] < 0 < above[2]
    assert abs(above[-1]) > 100
    assert above[1] == pytest.approx(-1.1)
    assert [abs(x) for x in limit] == [pytest.approx(1.0)] * 11


def test_taylor_predicts_the_decrease_for_small_steps() -> None:
    """gradient-descent-update: L(θ − ηg) ≈ L(θ) − η‖g‖², and descent below 2/λ_max."""
    h = torch.diag(torch.tensor([1.0, 50.0], dtype=torch.float64))
    theta = torch.tensor([1.0, 0.3], dtype=torch.float64)

    def loss(t: torch.Tensor) -> float:
        return float(0.5 * t @ h @ t)

    g = h @ theta
    drop = loss(theta) - loss(theta - 1e-5 * g)
    assert drop == pytest.approx(1e-5 * float(g @ g), rel=1e-3)
    assert loss(theta - 0.039 * g) < loss(theta)
    steep = torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert loss(steep - 0.041 * (h @ steep)) > loss(steep)


def test_gradient_can_be_nearly_perpendicular_to_the_minimum() -> None:
    """gradient-descent-update: an ill-conditioned bowl."""
    h = torch.tensor([1.0, 10_000.0], dtype=torch.float64)
    theta = torch.tensor([1.0, 0.01], dtype=torch.float64)
    cosine = F.cosine_similarity(-h * theta, -theta, dim=0).item()
    assert 0 < cosine < 0.1


def test_minibatch_gradient_is_unbiased_with_std_falling_as_root_b() -> None:
    """gradient-descent-update, full-mini-stochastic-batch, batch-size-gradient-variance and card."""
    rng = random.Random(0)
    data = [rng.gauss(1.0, 8.0) for _ in range(4000)]
    mean = sum(data) / len(data)
    spread = {}
    for b in (16, 64):
        draws = [sum(rng.choices(data, k=b)) / b for _ in range(3000)]
        centre = sum(draws) / len(draws)
        spread[b] = math.sqrt(sum((d - centre) ** 2 for d in draws) / len(draws))
        assert centre == pytest.approx(mean, abs=0.15)
    assert spread[16] / spread[64] == pytest.approx(2.0, rel=0.08)
    assert spread[64] == pytest.approx(8 / math.sqrt(64), rel=0.08)


def test_updates_per_epoch() -> None:
    """full-mini-stochastic-batch-updates-per-epoch: lengths of real loaders."""
    data = torch.utils.data.TensorDataset(torch.zeros(50_000, 1))
    for drop, expected in ((False, 391), (True, 390)):
        assert len(torch.utils.data.DataLoader(data, batch_size=128, drop_last=drop)) == expected


def test_one_step_can_raise_the_full_loss() -> None:
    """gradient-descent-update: a mini-batch step against the full-data loss."""
    data = [0.0, 0.0, 0.0, 4.0]

    def full(theta: float) -> float:
        return sum(0.5 * (theta - x) ** 2 for x in data) / len(data)

    theta = 1.0  # the full-data minimum
    assert full(theta - 0.5 * (theta - 4.0)) > full(theta)


def test_permuting_hidden_units_keeps_the_function() -> None:
    """local-minima-deep-nets."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2)).double()
    x = torch.randn(10, 3, dtype=torch.float64)
    before = net(x)
    order = torch.randperm(6)
    with torch.no_grad():
        net[0].weight.copy_(net[0].weight[order])
        net[0].bias.copy_(net[0].bias[order])
        net[2].weight.copy_(net[2].weight[:, order])
    assert torch.allclose(before, net(x))


def test_saddle_escape() -> None:
    """saddle-points, saddle-points-escape-distance."""
    x, y = 1.0, 1e-3
    for _ in range(50):
        x, y = x - 0.1 * x, y + 0.1 * y
    assert y == pytest.approx(1.1**50 * 1e-3) == pytest.approx(0.117, abs=5e-4)
    assert abs(x) < 0.01
    xy = torch.zeros(2, dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda t: t[0] ** 2 - t[1] ** 2, xy)
    eigenvalues = torch.linalg.eigvalsh(hessian)
    assert eigenvalues.min() < 0 < eigenvalues.max()


def test_convex_bound_and_best_constant_step() -> None:
    """gd-convergence-guarantees: O(1/T) bound and the contraction (κ−1)/(κ+1)."""
    lam = [1.0, 100.0]
    theta = [1.0, 1.0]
    start = sum(t * t for t in theta)
    eta = 1 / 100
    for step in range(1, 301):
        theta = [t - eta * a * t for t, a in zip(theta, lam, strict=True)]
        gap = 0.5 * sum(a * t * t for t, a in zip(theta, lam, strict=True))
        assert gap <= start / (2 * eta * step)
    best = 2 / (1 + 100)
    factors = [abs(1 - best * a) for a in lam]
    assert factors == [pytest.approx(99 / 101)] * 2


def test_steps_for_condition_number_100() -> None:
    """gd-convergence-guarantees, gd-convergence-guarantees-steps-for-kappa."""
    error, steps = 1.0, 0
    while error > 1e-3:
        error *= 1 - 1 / 100
        steps += 1
    assert steps == 688 == math.ceil(math.log(1e-3) / math.log(0.99))


def test_constant_rate_reaches_a_noise_ball_decay_goes_on() -> None:
    """gd-convergence-guarantees: constant η against η_t ∝ 1/t."""
    rng = random.Random(0)
    constant, decayed = [], []
    for _ in range(40):
        a = b = 1.0
        for t in range(1, 1500):
            noise = rng.gauss(0, 1)
            a -= 0.2 * (a + noise)
            b -= (1 / t) * (b + noise)
        constant.append(a * a)
        decayed.append(b * b)
    assert sum(constant) > 20 * sum(decayed)


def test_online_regret_grows_as_root_t() -> None:
    """online-learning-sgd: linear losses on [-1, 1], η_t = 1/√t."""
    rng = random.Random(0)
    average = []
    for horizon in (100, 10_000):
        x = loss = total = 0.0
        for t in range(1, horizon + 1):
            g = rng.choice((-1.0, 1.0))
            loss += g * x
            total += g
            x = max(-1.0, min(1.0, x - g / math.sqrt(t)))
        regret = loss + abs(total)
        assert regret <= 3 * math.sqrt(horizon)
        average.append(regret / horizon)
    assert average[1] < average[0] or average[1] < 0.03


def test_noise_floor_falls_when_the_rate_is_cut() -> None:
    """loss-plateaus, loss-plateaus-normal-gradients: flat loss, gradients of normal size, lower η helps."""
    rng = random.Random(0)
    x, losses = 0.0, []
    for t in range(8000):
        g = x + rng.gauss(0, 1)
        assert math.isfinite(g)
        x -= (0.5 if t < 4000 else 0.05) * g
        losses.append(0.5 * x * x)
    before, after = sum(losses[2000:4000]) / 2000, sum(losses[6000:]) / 2000
    assert after < before / 5


def test_stationary_noise_depends_on_eta_over_b() -> None:
    """gradient-noise-generalization: equal η/B, equal stationary spread for small η."""
    rng = random.Random(0)
    spread = []
    for eta, b in ((0.02, 1), (0.08, 4), (0.08, 1)):
        x = total = 0.0
        for t in range(20_000):
            x -= eta * (x + rng.gauss(0, 1) / math.sqrt(b))
            total += x * x if t > 1000 else 0.0
        spread.append(total / 19_000)
    assert spread[0] == pytest.approx(spread[1], rel=0.2)
    assert spread[2] > 3 * spread[0]


def test_newton_solves_a_quadratic_in_one_step_and_diagonal_scaling_fails_when_rotated() -> None:
    """preconditioning."""
    angle = torch.tensor(math.pi / 4, dtype=torch.float64)
    rotation = torch.stack(
        [torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])]
    )
    scale = torch.diag(torch.tensor([1.0, 100.0], dtype=torch.float64))
    theta = torch.tensor([1.0, -2.0], dtype=torch.float64)
    for h, repaired in ((scale, True), (rotation @ scale @ rotation.T, False)):
        assert torch.allclose(theta - torch.linalg.solve(h, h @ theta), torch.zeros(2).double())
        d = h.diagonal().rsqrt()
        kappa = torch.linalg.cond(d[:, None] * h * d[None, :]).item()
        assert (kappa < 1.001) == repaired
        if not repaired:
            assert kappa == pytest.approx(100)


def _train(reduction: str, eta: float, momentum: float, adam: bool = False) -> list[float]:
    torch.manual_seed(0)
    net = nn.Linear(5, 3).double()
    x, y = torch.randn(64, 5, dtype=torch.float64), torch.randint(3, (64,))
    optimizer = Adam(net.parameters(), lr=eta) if adam else SGD(net.parameters(), lr=eta, momentum=momentum)
    for _ in range(10):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y, reduction=reduction).backward()
        optimizer.step()
    return net.weight.flatten().tolist()


def test_sum_with_eta_over_b_equals_mean() -> None:
    """mean-vs-sum-reduction."""
    for momentum in (0.0, 0.9):
        mean = _train("mean", 0.1, momentum)
        assert _train("sum", 0.1 / 64, momentum) == pytest.approx(mean)
        assert _train("sum", 0.1, momentum) != pytest.approx(mean, rel=0.1)
    assert _train("sum", 1e-3, 0, adam=True) == pytest.approx(_train("mean", 1e-3, 0, adam=True), rel=1e-4)


def test_initial_loss_of_a_summed_cross_entropy() -> None:
    """mean-vs-sum-reduction-initial-loss, mean-vs-sum-reduction-first-loss-147."""
    loss = F.cross_entropy(torch.zeros(64, 10), torch.randint(10, (64,)), reduction="sum")
    assert loss.item() == pytest.approx(147.4, abs=0.05)
    assert F.cross_entropy(torch.zeros(4, 10), torch.tensor([0, 1, 2, 3])).item() == pytest.approx(
        2.303, abs=1e-3
    )


def test_huge_rate_leaves_first_loss_and_gradient_unchanged() -> None:
    """huge-lr-run, huge-lr-run-update-ratio: only the update ratio scales with η."""
    seen = []
    for eta in (0.1, 10.0):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        optimizer = SGD(net.parameters(), lr=eta, momentum=0.9)
        x, y = torch.randn(128, 784), torch.randint(10, (128,))
        weights = nn.utils.parameters_to_vector(net.parameters()).detach().clone()
        losses = []
        for step in range(12):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            if step == 0:
                norm = nn.utils.clip_grad_norm_(net.parameters(), float("inf")).item()
            optimizer.step()
            if step == 0:
                moved = nn.utils.parameters_to_vector(net.parameters()).detach() - weights
                ratio = (moved.norm() / weights.norm()).item()
            losses.append(loss.item())
        seen.append((losses[0], norm, ratio, losses[-1], max(losses)))
    small, huge = seen
    assert huge[0] == pytest.approx(small[0]) == pytest.approx(math.log(10), rel=0.1)
    assert huge[1] == pytest.approx(small[1])
    assert huge[2] == pytest.approx(100 * small[2], rel=1e-3)
    assert small[3] < 0.5 * small[0]
    assert not huge[4] < 5 * huge[0]


def test_momentum_multiplies_the_sustained_rate() -> None:
    """huge-lr-run-effective-rate."""
    x = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = SGD([x], lr=10, momentum=0.9)
    for _ in range(300):
        before = x.item()
        x.grad = torch.ones_like(x)
        optimizer.step()
    assert before - x.item() == pytest.approx(100)
