"""Computed claims of content/questions/regularization.yaml."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def test_adamw_shrinks_by_lr_times_decay() -> None:
    """weight-decay-value, -remaining-share: with zero gradients only decay acts."""
    p = nn.Parameter(torch.ones(1, dtype=torch.float64))
    opt = torch.optim.AdamW([p], lr=1e-3, weight_decay=0.1)
    assert torch.optim.AdamW([nn.Parameter(torch.ones(1))]).defaults["weight_decay"] == 0.01
    for _ in range(200):
        p.grad = torch.zeros_like(p)
        opt.step()
    assert p.item() == pytest.approx((1 - 1e-4) ** 200, rel=1e-9)
    assert pytest.approx(33_333, abs=1) == 1 / (3e-4 * 0.1)


def _stop(values: list[float], patience: int, delta: float) -> int:
    best, bad = math.inf, 0
    for i, v in enumerate(values, 1):
        if v < best - delta:
            best, bad = v, 0
        else:
            bad += 1
        if bad >= patience:
            return i
    return -1


def test_early_stopping_indices() -> None:
    """early-stopping, -stop-index, -absolute-delta, scenario-sft-overfits-stop-index."""
    assert _stop([1.0, 0.8, 0.85, 0.81, 0.82], 3, 0.0) == 5
    for a in (1.0, 1.2):
        for b in (0.8, 0.7):
            for c in (0.85, 0.6, 0.95):
                seq = [a, b, c, b + 0.21, b + 0.22, b + 0.23, b + 0.22]
                for p in (1, 2, 3):
                    assert _stop(seq, p, 0.0) == (3 if c < b else 2) + p
    seq = [0.50, 0.45, 0.449, 0.46, 0.45, 0.43, 0.46, 0.47, 0.48, 0.49]
    for d in (0.0005, 0.005, 0.01):
        for p in (2, 3, 4):
            first = (3 if d < 0.001 else 2) + p
            assert _stop(seq, p, d) == (first if first < 6 else 6 + p)
    assert _stop([0.50, 0.45, 0.449, 0.46, 0.45], 3, 0.01) == 5
    for p in (1, 2, 3):
        assert _stop([2.0, 1.7, 1.5, 1.55, 1.6, 1.7, 1.8], p, 0.0) == 3 + p


def test_early_stopping_acts_like_l2() -> None:
    """early-stopping: for least squares the filter of t steps is close to ridge with strength 1/(eta*t)."""
    eta, t = 0.01, 100
    for s in (0.01, 0.1, 1.0, 10.0):
        stopped = 1 - (1 - eta * s) ** t
        ridge = s / (s + 1 / (eta * t))
        assert stopped == pytest.approx(ridge, abs=0.2)


def test_label_smoothing_targets_and_loss() -> None:
    """label-smoothing, -true-class, -torch-value."""
    torch.manual_seed(0)
    z, y = torch.randn(6, 4), torch.randint(0, 4, (6,))
    target = 0.9 * F.one_hot(y, 4) + 0.1 / 4
    loss = F.cross_entropy(z, y, label_smoothing=0.1)
    assert torch.allclose(loss, F.cross_entropy(z, target))
    logp = z.log_softmax(-1)
    split = 0.9 * F.cross_entropy(z, y) - 0.1 * logp.mean(-1).mean()
    assert torch.allclose(loss, split)
    assert target.max().item() == pytest.approx(0.925)


@pytest.mark.parametrize(
    ("k", "true", "other"), [(3, 0.9333, 0.0333), (10, 0.91, 0.01), (1000, 0.9001, 0.0001)]
)
def test_label_smoothing_values(k: int, true: float, other: float) -> None:
    """label-smoothing: table of targets at eps 0.1."""
    assert 0.9 + 0.1 / k == pytest.approx(true, abs=1e-4)
    assert 0.1 / k == pytest.approx(other, abs=1e-4)


def test_label_smoothing_floor_and_gap() -> None:
    """label-smoothing, -floor: 0.50 nats for K = 10, gap 3.33 for K = 3, eps 0.15 otherwise."""
    k, eps = 10, 0.1
    z = torch.zeros(1, k)
    z[0, 0] = math.log((1 - eps + eps / k) / (eps / k))
    floor = F.cross_entropy(z, torch.tensor([0]), label_smoothing=eps).item()
    assert floor == pytest.approx(0.5003, abs=1e-3)
    for bump in (0.5, -0.5):
        other = z.clone()
        other[0, 0] += bump
        assert F.cross_entropy(other, torch.tensor([0]), label_smoothing=eps).item() > floor
    assert math.log((0.9 + 0.1 / 3) / (0.1 / 3)) == pytest.approx(3.33, abs=0.005)
    assert pytest.approx((0.9, 0.05)) == (1 - 0.15 + 0.15 / 3, 0.15 / 3)


def test_label_smoothing_gradient() -> None:
    """label-smoothing-gradient-sign: softmax minus smoothed target."""
    for k, eps, p in ((4, 0.1, 0.99), (10, 0.2, 0.6)):
        probs = torch.full((1, k), (1 - p) / (k - 1), dtype=torch.float64)
        probs[0, 0] = p
        z = probs.log().requires_grad_()
        F.cross_entropy(z, torch.tensor([0]), label_smoothing=eps).backward()
        assert z.grad is not None
        assert z.grad[0, 0].item() == pytest.approx(p - (1 - eps + eps / k), abs=1e-9)


def test_win_rate_standard_error() -> None:
    """scenario-sft-overfits, -win-rate-error: 7 points at 50 items."""
    assert 100 * math.sqrt(0.25 / 50) == pytest.approx(7.07, abs=0.01)


def test_dropout_scaling_mean_and_variance() -> None:
    """inverted-dropout, -kept-value, -noise-variance."""
    torch.manual_seed(0)
    for p, x in ((0.2, 2.0), (0.5, 1.0), (0.8, 4.0)):
        out = F.dropout(torch.full((200_000,), x), p, training=True)
        assert out.max().item() == pytest.approx(x / (1 - p), rel=1e-5)
        assert out.mean().item() == pytest.approx(x, rel=0.02)
        assert out.std().item() == pytest.approx(x * math.sqrt(p / (1 - p)), rel=0.02)
        assert out.pow(2).mean().item() == pytest.approx(x * x / (1 - p), rel=0.02)
    assert (F.dropout(torch.ones(100_000), 0.9) == 0).float().mean().item() == pytest.approx(0.9, abs=0.01)


def test_eval_and_no_grad_are_independent() -> None:
    """eval-mode-forgotten and its cards."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 64), nn.BatchNorm1d(64), nn.Dropout(0.5))
    x = torch.randn(16, 4)
    with torch.no_grad():
        before = net[1].running_mean.clone()
        assert not torch.equal(net(x), net(x))
        assert not torch.equal(net[1].running_mean, before)
    net.eval()
    out = net(x)
    assert torch.equal(out, net(x))
    assert out.requires_grad
    out.sum().backward()
    assert net[0].weight.grad is not None
    assert net[0].weight.grad.abs().sum() > 0


def test_scale_invariant_equilibrium_under_sgd() -> None:
    """weight-decay-scale-invariant, -rotation: norm^4 = eta*G^2/(2*lambda), angle sqrt(2*eta*lambda)."""
    torch.manual_seed(0)
    eta, lam, d = 0.1, 0.02, 200
    w = torch.randn(d) / math.sqrt(d)
    angles, lengthened = [], True
    for t in range(700):
        g = torch.randn(d)
        u = w / w.norm()
        g = (g - (g @ u) * u) / math.sqrt(d - 1) / w.norm()
        lengthened &= bool((w - eta * g).norm() > w.norm() * (1 - 1e-6))
        new = w - eta * (g + lam * w)
        if t > 600:
            cos = (new @ w / (new.norm() * w.norm())).clamp(max=1.0)
            angles.append(math.acos(cos.item()))
        w = new
    assert lengthened
    assert (w.norm() ** 4).item() == pytest.approx(eta / (2 * lam), rel=0.15)
    assert sum(angles) / len(angles) == pytest.approx(math.sqrt(2 * eta * lam), rel=0.05)
    assert math.degrees(math.sqrt(2 * 0.1 * 0.001)) == pytest.approx(0.81, abs=0.01)


def test_scale_invariant_gradient_is_orthogonal_and_inverse_to_norm() -> None:
    """weight-decay-scale-invariant."""
    torch.manual_seed(0)
    x, y = torch.randn(32, 6).double(), torch.randn(32, 1).double()
    base = torch.randn(6).double()

    def grad(a: float) -> tuple[torch.Tensor, torch.Tensor]:
        w = (a * base).requires_grad_()
        ((x @ (w / w.norm()) - y[:, 0]) ** 2).mean().backward()
        assert w.grad is not None
        return w.grad, w.detach()

    g, w = grad(1.0)
    assert abs((g @ w).item()) < 1e-9
    assert torch.allclose(grad(3.0)[0], g / 3)


def test_adamw_equilibrium_rotation() -> None:
    """weight-decay-scale-invariant: an update of fixed norm U gives norm^2 = eta*U^2/(2*lambda)."""
    torch.manual_seed(0)
    eta, lam, d = 0.01, 0.2, 200
    w = torch.randn(d) / 4
    for _ in range(1500):
        u = torch.randn(d)
        w = w * (1 - eta * lam) - eta * u / u.norm() * math.sqrt(d)
    norm2 = eta * d / (2 * lam)
    assert (w @ w).item() == pytest.approx(norm2, rel=0.3)
    assert eta * math.sqrt(d) / math.sqrt(norm2) == pytest.approx(math.sqrt(2 * eta * lam))


def test_momentum_shrinks_the_turn_of_a_single_adamw_step() -> None:
    """weight-decay-scale-invariant: by sqrt((1 - b1)/(1 + b1)), 0.23 at 0.9."""
    torch.manual_seed(0)
    w = nn.Parameter(torch.randn(100) / 4)
    opt = torch.optim.AdamW([w], lr=0.01, weight_decay=0.2)
    turns = []
    for t in range(3000):
        old = w.detach().clone()
        noise = torch.randn(100)
        w.grad = (noise - (noise @ old) * old / (old @ old)) / old.norm()
        opt.step()
        new = w.detach()
        if t >= 1500:
            cos = (new.double() @ old.double()) / (new.double().norm() * old.double().norm())
            turns.append(math.acos(min(1.0, cos.item())))
    shrink = math.sqrt(0.1 / 1.9)
    assert shrink == pytest.approx(0.23, abs=0.005)
    assert sum(turns) / len(turns) == pytest.approx(shrink * math.sqrt(2 * 0.01 * 0.2), rel=0.07)


@pytest.mark.parametrize(("mu", "p"), [(0.0, 0.5), (1.0, 0.2), (2.0, 0.5)])
def test_dropout_before_batchnorm_shifts_variance(mu: float, p: float) -> None:
    """dropout-batchnorm-variance, -eval-std."""
    torch.manual_seed(0)
    bn = nn.BatchNorm1d(1, affine=False, momentum=1.0)
    x = torch.randn(100_000, 1) + mu
    bn(F.dropout(x, p, training=True))
    bn.eval()
    expect = math.sqrt(1 / ((1 + mu * mu) / (1 - p) - mu * mu))
    assert bn(x).std().item() == pytest.approx(expect, rel=0.02)


def test_dropout_variance_ratio_after_relu_and_linear() -> None:
    """dropout-batchnorm-variance: 0.71 for zero mean; 0.41 for a rectified normal and a linear layer."""
    torch.manual_seed(0)
    assert math.sqrt(0.5) == pytest.approx(0.71, abs=0.005)
    x = torch.relu(torch.randn(40_000, 16))
    w = torch.randn(16, 1)
    plain, noisy = x @ w, F.dropout(x, 0.5, training=True) @ w
    assert (x.var() / F.dropout(x, 0.5, training=True).var()).item() == pytest.approx(0.405, abs=0.01)
    assert (plain.var() / noisy.var()).item() == pytest.approx(0.405, abs=0.02)


def test_shared_samples_score_at_chance_under_random_training_labels() -> None:
    """train-val-gap-playbook: random training labels hide duplicates, removing the duplicates shows them."""
    torch.manual_seed(0)
    train, y = torch.randn(1000, 20), torch.randint(0, 10, (1000,))
    val, y_val = train[:500], y[:500]

    def accuracy(x: torch.Tensor, labels: torch.Tensor) -> float:
        nearest = torch.cdist(val, x).argmin(1)
        return (labels[nearest] == y_val).float().mean().item()

    assert accuracy(train, y) == 1.0
    assert accuracy(train, torch.randint(0, 10, (1000,))) == pytest.approx(0.1, abs=0.05)
    assert accuracy(train[500:], y[500:]) == pytest.approx(0.1, abs=0.05)


def test_eval_mode_saves_only_the_dropout_mask() -> None:
    """eval-mode-forgotten: the graph keeps its activations in eval mode, less the mask."""
    net, x = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.1), nn.Linear(64, 64)), torch.randn(32, 64)
    kept: dict[bool, int] = {}
    for mode in (True, False):
        sizes: list[int] = []

        def pack(t: torch.Tensor, sizes: list[int] = sizes) -> torch.Tensor:
            sizes.append(t.numel() * t.element_size())
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            net.train(mode)(x)
        kept[mode] = sum(sizes)
    assert 0.5 * kept[True] < kept[False] < kept[True]
