"""Computed claims of content/questions/optimizers.yaml."""

import inspect
import math
import random

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, AdamW, RMSprop, SparseAdam


def _param(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values, dtype=torch.float64))


def _drive(optimizer: torch.optim.Optimizer, x: nn.Parameter, grads: list[float]) -> list[float]:
    """Length of each update when the optimizer is fed the given gradients."""
    moves = []
    for g in grads:
        before = x.item()
        x.grad = torch.full_like(x, g)
        optimizer.step()
        moves.append(before - x.item())
    return moves


def test_dense_hessian_of_a_million_parameters() -> None:
    """second-order-methods: 4 TB in FP32."""
    assert (10**6) ** 2 * torch.finfo(torch.float32).bits // 8 == 4 * 10**12


def test_plain_newton_step_is_drawn_to_a_saddle() -> None:
    """second-order-methods: on x² − y² the Newton step lands on the saddle."""
    x, y = 0.3, 0.2
    assert (x - (2 * x) / 2, y - (-2 * y) / (-2)) == (0.0, 0.0)


def test_momentum_buildup_and_convention() -> None:
    """sgd-momentum-update and cards, sgd-momentum-forms and cards."""
    x = _param(0.0)
    moves = _drive(SGD([x], lr=0.1, momentum=0.9), x, [1.0] * 100)
    for t in (1, 2, 5, 10, 100):
        assert moves[t - 1] == pytest.approx(0.1 * (1 - 0.9**t) / 0.1)
    assert moves[99] == pytest.approx(1.0, rel=1e-4)
    v = theta = 0.0  # averaging form with η = 1 against PyTorch with η·(1−μ) = 0.1
    for _ in range(100):
        v = 0.9 * v + 0.1
        theta -= v
    assert theta == pytest.approx(x.item())
    assert pytest.approx(20) == 1 / (1 - 0.95)


def test_momentum_stability_bound_on_a_quadratic() -> None:
    """sgd-momentum-update: η < 2(1+μ)/λ_max."""
    lam, mu = 10.0, 0.9
    for eta, stable in ((0.99 * 2 * (1 + mu) / lam, True), (1.01 * 2 * (1 + mu) / lam, False)):
        x, v = 1.0, 0.0
        for _ in range(2000):
            v = mu * v + lam * x
            x -= eta * v
        assert (abs(x) < 1) == stable


def test_dampening_starts_with_the_second_step() -> None:
    """sgd-momentum-update follow-up."""
    x = _param(0.0)
    moves = _drive(SGD([x], lr=1.0, momentum=0.9, dampening=0.5), x, [1.0, 1.0])
    assert moves == [pytest.approx(1.0), pytest.approx(0.9 + 0.5)]


def test_rate_inside_form_differs_after_a_rate_change() -> None:
    """sgd-momentum-forms."""

    def run(rates: list[float]) -> tuple[float, float]:
        a = va = b = vb = 0.0
        for eta in rates:
            va = 0.9 * va + 1.0
            a -= eta * va
            vb = 0.9 * vb - eta
            b += vb
        return a, b

    same = run([0.1] * 20)
    assert same[0] == pytest.approx(same[1])
    changed = run([0.1] * 20 + [0.01])
    assert abs(changed[0] - changed[1]) > 0.5


def test_nesterov_update_and_requirements() -> None:
    """nesterov-momentum, nesterov-momentum-torch-update."""
    x = _param(0.0)
    moves = _drive(SGD([x], lr=0.1, momentum=0.9, nesterov=True), x, [1.0, 2.0, -1.0])
    v = 0.0
    for g, move in zip([1.0, 2.0, -1.0], moves, strict=True):
        v = 0.9 * v + g
        assert move == pytest.approx(0.1 * (g + 0.9 * v))
    for bad in ({"momentum": 0.0}, {"momentum": 0.9, "dampening": 0.1}):
        with pytest.raises(ValueError):
            SGD([x], lr=0.1, nesterov=True, **bad)


def test_nesterov_look_ahead_equals_torch_form() -> None:
    """nesterov-momentum: PyTorch stores the look-ahead variable θ − η·μ·v."""
    eta, mu = 0.05, 0.9
    theta, v, look = 1.0, 0.0, []
    for _ in range(10):
        ahead = theta - eta * mu * v
        look.append(ahead)
        v = mu * v + 3.0 * ahead
        theta -= eta * v
    x = _param(1.0)
    optimizer = SGD([x], lr=eta, momentum=mu, nesterov=True)
    for expected in look:
        assert x.item() == pytest.approx(expected)
        x.grad = 3.0 * x.detach()
        optimizer.step()


def test_adagrad_step_under_constant_gradient() -> None:
    """adagrad, adagrad-tth-step."""
    for g in (0.2, 1.0, 3.0):
        x = _param(0.0)
        moves = _drive(Adagrad([x], lr=0.1), x, [g] * 100)
        assert moves[3] == pytest.approx(0.05)
        assert moves[99] == pytest.approx(0.01)


def test_rmsprop_defaults_and_first_step() -> None:
    """rmsprop, rmsprop-first-step."""
    x = _param(0.0)
    defaults = RMSprop([x]).defaults
    assert (defaults["lr"], defaults["alpha"], defaults["eps"]) == (1e-2, 0.99, 1e-8)
    assert (defaults["momentum"], defaults["centered"]) == (0, False)
    assert _drive(RMSprop([x], lr=1e-3), x, [3.0])[0] == pytest.approx(0.01, rel=1e-6)


def test_adam_first_step_and_scale_invariance() -> None:
    """adam-moments, adam-moments-first-step, adam-epsilon, adam-epsilon-damped-step."""
    for g in (1e-9, 1e-8, 1e-6, 5.0):
        x = _param(0.0)
        move = _drive(Adam([x], lr=1e-3), x, [g])[0]
        assert move == pytest.approx(1e-3 * g / (g + 1e-8), rel=1e-5)
    rng = random.Random(0)
    grads = [rng.gauss(0.3, 1) for _ in range(30)]
    ends = []
    for scale in (1.0, 1000.0):
        x = _param(0.0)
        _drive(Adam([x], lr=1e-2, eps=1e-20), x, [scale * g for g in grads])
        ends.append(x.item())
    assert ends[0] == pytest.approx(ends[1])


def test_uncorrected_adam_excess() -> None:
    """adam-moments, adam-bias-correction and cards: run Adam with and without correction."""

    def ratio(b1: float, b2: float, steps: int) -> list[float]:
        m = v = 0.0
        out = []
        for t in range(1, steps + 1):
            m = b1 * m + (1 - b1) * 2.5
            v = b2 * v + (1 - b2) * 2.5**2
            raw = m / math.sqrt(v)
            fixed = (m / (1 - b1**t)) / math.sqrt(v / (1 - b2**t))
            out.append(raw / fixed)
        return out

    r = ratio(0.9, 0.999, 1000)
    assert r[0] == pytest.approx(3.162, abs=1e-3)
    assert r[9] == pytest.approx(6.53, abs=0.01)
    assert r[99] == pytest.approx(3.24, abs=0.01)
    assert r[999] == pytest.approx(1.258, abs=0.001)
    assert max(range(1000), key=r.__getitem__) + 1 == 12
    assert max(r) == pytest.approx(6.57, abs=0.01)
    assert ratio(0.9, 0.95, 1)[0] == pytest.approx(0.447, abs=1e-3)


def test_beta_memory() -> None:
    """adam-betas, adam-betas-half-life."""
    for beta, half in ((0.9, 6.6), (0.95, 13.5), (0.999, 693)):
        weight, n = 1.0, 0
        while weight > 0.5:
            weight *= beta
            n += 1
        assert n == math.ceil(math.log(0.5) / math.log(beta))
        assert math.log(0.5) / math.log(beta) == pytest.approx(half, rel=0.005)
    assert pytest.approx(100.5, abs=0.05) == 1 / (1 - 0.999**10)


def test_high_beta2_gives_oversized_updates_after_a_gradient_jump() -> None:
    """adam-betas: gradients grow tenfold, the update is larger with the longer memory."""
    largest = {}
    for b2 in (0.95, 0.999):
        x = _param(0.0)
        optimizer = Adam([x], lr=1.0, betas=(0.9, b2))
        moves = _drive(optimizer, x, [0.1] * 3000 + [1.0] * 30)
        largest[b2] = max(moves[3000:])
    assert largest[0.999] > 2 * largest[0.95]
    assert largest[0.999] > 4


def test_epsilon_placement_and_fp16() -> None:
    """adam-epsilon."""
    assert math.sqrt(0.0 + 1e-8) == pytest.approx(1e-4)
    assert torch.tensor(1e-8, dtype=torch.float16).item() == 0.0
    assert torch.tensor(2.0**-24, dtype=torch.float16).item() == pytest.approx(5.96e-8, rel=1e-3)


def test_coupled_decay_step_does_not_depend_on_lambda() -> None:
    """adam-vs-adamw, adam-vs-adamw-coupled-step."""
    for lam in (1e-4, 1e-2, 1.0):
        x = _param(1.0)
        move = _drive(Adam([x], lr=1e-3, weight_decay=lam), x, [0.0])[0]
        assert move == pytest.approx(1e-3, rel=2e-4)


def test_adamw_shrinks_first_and_geometrically() -> None:
    """adam-vs-adamw, adam-vs-adamw-one-step-value, adam-vs-adamw-geometric-decay."""
    x = _param(2.0)
    _drive(AdamW([x], lr=0.1, weight_decay=0.5), x, [1.0])
    assert x.item() == pytest.approx(1.8, abs=1e-6)
    assert pytest.approx(1.805) == (2.0 - 0.1) * (1 - 0.05)  # decaying afterwards
    x = _param(1.0)
    _drive(AdamW([x], lr=1e-3, weight_decay=0.1), x, [0.0] * 200)
    assert x.item() == pytest.approx((1 - 1e-4) ** 200)
    assert inspect.signature(AdamW).parameters["weight_decay"].default == 0.01
    assert inspect.signature(Adam).parameters["weight_decay"].default == 0


def test_l2_equals_decay_for_plain_sgd_only() -> None:
    """adam-vs-adamw, adam-vs-adamw-where-equal."""
    rng = random.Random(0)
    grads = [rng.gauss(0, 1) for _ in range(30)]
    for momentum, equal in ((0.0, True), (0.9, False)):
        x = _param(1.0)
        _drive(SGD([x], lr=0.1, momentum=momentum, weight_decay=0.1), x, grads)
        theta, v = 1.0, 0.0
        for g in grads:
            v = momentum * v + g
            theta = (1 - 0.01) * theta - 0.1 * v
        assert (abs(theta - x.item()) < 1e-9) == equal


def test_loud_coordinate_escapes_coupled_decay() -> None:
    """adam-vs-adamw: two coordinates with gradient noise 30:1."""
    left = {}
    for cls in (Adam, AdamW):
        torch.manual_seed(0)
        x = _param(*([1.0] * 100 + [1.0] * 100))
        noise = torch.cat([torch.full((100,), 30.0), torch.full((100,), 1.0)]).double()
        optimizer = cls([x], lr=1e-3, weight_decay=1.0 if cls is AdamW else 0.5)
        for _ in range(300):
            x.grad = noise * torch.randn(200, dtype=torch.float64)
            optimizer.step()
        left[cls] = (x[:100].mean().item(), x[100:].mean().item())
    assert abs(left[AdamW][0] - left[AdamW][1]) < 0.01
    assert left[Adam][0] > left[Adam][1] + 0.05


def test_equal_gradient_different_curvature() -> None:
    """adam-not-second-order: the counterexample."""
    gradients = []
    for c, start in ((0.01, 10.0), (1.0, 0.1)):
        theta = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        (0.5 * c * theta**2).backward()
        assert theta.grad is not None
        gradients.append(theta.grad.item())
    assert gradients[0] == pytest.approx(gradients[1]) == pytest.approx(0.1)


def test_sparse_gradients() -> None:
    """sparse-gradient-optimizers, sparse-gradient-optimizers-absent-token."""
    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    for cls in (Adam, AdamW):
        with pytest.raises(RuntimeError):
            cls(table.parameters()).step()
    before = table.weight.detach().clone()
    SparseAdam(list(table.parameters()), lr=0.1).step()
    moved = (table.weight != before).any(dim=1)
    assert moved.tolist() == [False, True, False, False, False]
    dense = nn.Embedding(5, 2)
    optimizer = Adam(dense.parameters(), lr=0.1)
    for token in (0, 1):
        optimizer.zero_grad(set_to_none=False)
        dense(torch.tensor([token])).sum().backward()
        before = dense.weight.detach().clone()
        optimizer.step()
    assert (dense.weight[0] != before[0]).all()  # token 0 was absent and still moved


def test_state_buffers_and_checkpoint_size() -> None:
    """sgd-vs-adam-memory and cards, optimizer-comparison-table-state-order."""
    sizes = []
    for make in (
        lambda p: SGD(p, lr=0.1),
        lambda p: SGD(p, lr=0.1, momentum=0.9),
        Adam,
        lambda p: Adam(p, amsgrad=True),
    ):
        x = nn.Parameter(torch.ones(1000))
        x.grad = torch.ones(1000)
        optimizer = make([x])
        assert not optimizer.state  # nothing is allocated before the first step
        optimizer.step()
        tensors = [v for v in optimizer.state[x].values() if torch.is_tensor(v) and v.numel() == 1000]
        sizes.append(sum(v.numel() * v.element_size() for v in tensors) / 1000)
    assert sizes == [0, 4, 8, 12]
    assert (4 + sizes[2]) / 4 == 3
    assert (4 + sizes[1]) / 4 == 2
    assert sizes[2] * 7 == 56
    assert 16 * 7 == 112


def test_critical_batch_curve() -> None:
    """critical-batch-size and cards: S·B = E, and both are doubled at B_crit."""
    s_min, b_crit = 10_000, 1e6
    for b in (5e5, 1e6, 16e6):
        steps = s_min * (1 + b_crit / b)
        assert steps * b == pytest.approx(b_crit * s_min * (1 + b / b_crit))
    assert s_min * (1 + b_crit / b_crit) == 2 * s_min


def test_unbiased_signal_and_noise_from_two_batches() -> None:
    """critical-batch-size-unbiased-signal: simulate per-sample gradients."""
    torch.manual_seed(0)
    g = torch.full((10,), 0.3)
    samples = g + torch.randn(4000, 128, 10)
    small = samples[:, :8].mean(1).square().sum(1).mean().item()
    big = samples.mean(1).square().sum(1).mean().item()
    signal = (128 * big - 8 * small) / (128 - 8)
    noise = (small - big) / (1 / 8 - 1 / 128)
    assert signal == pytest.approx(0.9, rel=0.03)
    assert noise == pytest.approx(10.0, rel=0.03)


def test_parameter_left_out_of_the_optimizer_has_zero_update_ratio() -> None:
    """optimizer-failure-checklist-zero-ratio."""
    inside, outside = _param(1.0), _param(1.0)
    optimizer = SGD([inside], lr=0.1)
    (3 * inside + 3 * outside).sum().backward()
    optimizer.step()
    assert outside.grad is not None
    assert outside.grad.item() == 3.0
    assert outside.item() == 1.0
    assert inside.item() == pytest.approx(0.7)


def test_an_applied_nan_gradient_stays_whatever_the_rate() -> None:
    """optimizer-failure-checklist: weights and moments hold NaN, so a lower rate cannot help."""
    x = _param(1.0)
    optimizer = Adam([x], lr=1e-3)
    _drive(optimizer, x, [1.0, math.nan])
    optimizer.param_groups[0]["lr"] = 1e-9
    _drive(optimizer, x, [1.0] * 10)
    assert math.isnan(x.item())
    assert math.isnan(optimizer.state[x]["exp_avg"].item())
    fresh = _param(1.0)
    fresh.grad = torch.full_like(fresh, math.nan)
    assert fresh.item() == 1.0  # a NaN gradient that no step applied has done no harm


def test_amsgrad_normaliser_shrinks_only_by_bias_correction() -> None:
    """adam-moments follow-up: the running maximum never falls, its corrected form does early on."""
    x = _param(0.0)
    optimizer = Adam([x], amsgrad=True)
    kept = []
    for t, g in enumerate((1.0, 0.0, 0.0), start=1):
        _drive(optimizer, x, [g])
        kept.append((optimizer.state[x]["max_exp_avg_sq"].item(), 1 - 0.999**t))
    assert kept[0][0] == kept[1][0] == kept[2][0]
    assert kept[2][0] / kept[2][1] < 0.5 * kept[0][0] / kept[0][1]


def newton_schulz(x: Tensor, steps: int = 5) -> Tensor:
    for _ in range(steps):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    return x


def test_muon_singular_values() -> None:
    """muon-update"""
    values = newton_schulz(torch.linspace(0.01, 1, 20001, dtype=torch.float64))
    assert values.min().item() == pytest.approx(0.68, abs=0.005)
    assert values.max().item() == pytest.approx(1.13, abs=0.005)


def test_muon_update_ignores_the_scale_of_the_gradient() -> None:
    """muon-update-scaled-gradient, muon-update-rms"""
    torch.manual_seed(0)
    g = torch.randn(64, 256, dtype=torch.float64)

    def orthogonalize(b: Tensor) -> Tensor:
        x: Tensor = b / b.norm()
        for _ in range(5):
            a = x @ x.T
            x = torch.add(3.4445 * x, -4.7750 * a @ x + 2.0315 * a @ a @ x)
        return x

    o = orthogonalize(g)
    assert torch.allclose(o, orthogonalize(100 * g))
    assert o.pow(2).mean().sqrt().item() == pytest.approx(1 / math.sqrt(256), rel=0.2)


def test_muon_overhead() -> None:
    """muon-in-practice"""
    m = 4096
    cost = 5 * (4 * m**3 + 2 * m**3)
    assert cost / (6 * m * m * 4194304) == pytest.approx(0.005, abs=0.0002)
    assert cost / (6 * m * m * 65536) == pytest.approx(0.31, abs=0.005)
