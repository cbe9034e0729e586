"""Computed claims of content/questions/gradient-flow.yaml."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def _deep(depth: int, act: type[nn.Module], he: bool, norm: bool = False, width: int = 64) -> list[nn.Linear]:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for _ in range(depth):
        lin = nn.Linear(width, width)
        if he:
            nn.init.kaiming_normal_(lin.weight, nonlinearity="relu")
        else:
            nn.init.xavier_normal_(lin.weight)
        nn.init.zeros_(lin.bias)
        parts += [lin, *([nn.BatchNorm1d(width)] if norm else []), act()]
    model = nn.Sequential(*parts, nn.Linear(width, 10))
    F.cross_entropy(model(torch.randn(256, width)), torch.randint(0, 10, (256,))).backward()
    return [m for m in model if isinstance(m, nn.Linear)][:-1]


def _ratio(layers: list[nn.Linear]) -> float:
    """Gradient norm of the first layer over that of the last hidden layer."""
    first, last = layers[0].weight.grad, layers[-1].weight.grad
    assert first is not None
    assert last is not None
    return (first.norm() / last.norm()).item()


def test_sigmoid_nets_vanish_and_relu_he_nets_do_not() -> None:
    """vanishing-gradients, jacobian-product-view: some ten thousand at 8 layers, nearly 1e12 at 20."""
    assert 1e4 < 1 / _ratio(_deep(8, nn.Sigmoid, he=False)) < 1e5
    assert 1e11 < 1 / _ratio(_deep(20, nn.Sigmoid, he=False)) < 1e13
    for depth in (8, 20):
        assert 0.1 < _ratio(_deep(depth, nn.ReLU, he=True)) < 10


def test_he_under_tanh_grows_gradients_slowly() -> None:
    """xavier-vs-he: about 5 % per layer toward the input."""
    ratio = _ratio(_deep(20, nn.Tanh, he=True))
    assert ratio ** (1 / 19) == pytest.approx(1.05, abs=0.03)


def test_plain_batchnorm_net_explodes() -> None:
    """batchnorm-gradient-flow: about 1.21 per layer, some ten thousand over 50 layers."""
    ratio = _ratio(_deep(50, nn.ReLU, he=True, norm=True))
    assert 5e3 < ratio < 5e4
    assert ratio ** (1 / 49) == pytest.approx(1.21, abs=0.02)
    assert math.sqrt(math.pi / (math.pi - 1)) == pytest.approx(1.21, abs=0.005)


def test_powers() -> None:
    """vanishing-gradients, jacobian-product-view, residual-gradient-path, lstm-gradient-flow."""
    assert pytest.approx(9.5e-7, rel=0.01) == 0.25**10
    assert pytest.approx(2.7e-5, rel=0.02) == 0.9**100
    assert pytest.approx(1.4e4, rel=0.02) == 1.1**100
    assert pytest.approx(0.37, abs=0.005) == 0.99**100
    assert pytest.approx(0.005, rel=0.05) == 0.9**50


def test_sigmoid_and_tanh_slopes() -> None:
    """sigmoid-tanh-saturation and its numeric card."""
    z = torch.tensor([0.0, 5.0, 1.6, 1.7], dtype=torch.float64, requires_grad=True)
    (sig,) = torch.autograd.grad(torch.sigmoid(z).sum(), z)
    (tan,) = torch.autograd.grad(torch.tanh(z).sum(), z)
    assert sig[0] == 0.25
    assert tan[0] == 1.0
    assert sig[1].item() == pytest.approx(0.0066, abs=1e-4)
    assert tan[1].item() == pytest.approx(1.8e-4, rel=0.02)
    assert tan[2] > sig[2]
    assert tan[3] < sig[3]
    x = torch.linspace(-3, 3, 13)
    assert torch.allclose(torch.tanh(x), 2 * torch.sigmoid(2 * x) - 1, atol=1e-6)


def test_clip_coefficient_and_return_value() -> None:
    """gradient-clipping, -coefficient, -component, clip-rate-monitoring, -return-value."""
    p = nn.Parameter(torch.zeros(3))
    p.grad = torch.tensor([3.0, 4.0, 12.0])
    norm = nn.utils.clip_grad_norm_([p], 1.0)
    assert norm.item() == pytest.approx(13.0)
    assert torch.allclose(p.grad, torch.tensor([3.0, 4.0, 12.0]) / 13, atol=1e-5)
    p.grad = torch.tensor([0.3, 0.0, 0.0])
    nn.utils.clip_grad_norm_([p], 1.0)
    assert p.grad[0].item() == pytest.approx(0.3)


def test_clipping_non_finite() -> None:
    """gradient-clipping, gradient-clipping-inf-entry."""
    p = nn.Parameter(torch.zeros(3))
    p.grad = torch.tensor([float("nan"), 1.0, 2.0])
    nn.utils.clip_grad_norm_([p], 1.0)
    assert torch.isnan(p.grad).all()
    p.grad = torch.tensor([float("inf"), 1.0, 2.0])
    nn.utils.clip_grad_norm_([p], 1.0)
    assert torch.isnan(p.grad[0])
    assert (p.grad[1:] == 0).all()
    p.grad = torch.tensor([float("inf"), 1.0, 2.0])
    with pytest.raises(RuntimeError):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)


def test_value_clipping_turns_the_vector() -> None:
    """gradient-clipping: cosine 0.954."""
    g = torch.tensor([3.0, -0.5, 0.1])
    assert F.cosine_similarity(g, g.clamp(-1, 1), dim=0).item() == pytest.approx(0.954, abs=1e-3)


def test_adam_ignores_constant_clipping_but_sgd_does_not() -> None:
    """gradient-clipping, gradient-clipping-frozen-sgd."""
    moved = {}
    for name, make in (("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)):
        for limit in (1e-3, 1e9):
            torch.manual_seed(0)
            p = nn.Parameter(torch.zeros(10))
            opt = make([p], lr=0.01)
            for _ in range(5):
                p.grad = torch.ones(10) * 0.5
                nn.utils.clip_grad_norm_([p], limit)
                opt.step()
            moved[name, limit] = p.detach().norm().item()
    assert moved["sgd", 1e-3] < 1e-3 * moved["sgd", 1e9]
    assert moved["adam", 1e-3] == pytest.approx(moved["adam", 1e9], rel=1e-3)


def test_norms_pile_up_without_zero_grad() -> None:
    """clip-max-norm-tuning: 1, 2, 3, 4 times the true norm on one batch with learning rate 0."""
    torch.manual_seed(0)
    lin, x, y = nn.Linear(4, 1), torch.randn(8, 4), torch.randn(8, 1)
    norms = []
    for _ in range(4):
        F.mse_loss(lin(x), y).backward()
        norms.append(nn.utils.clip_grad_norm_(lin.parameters(), float("inf")).item())
    assert norms == pytest.approx([norms[0] * k for k in (1, 2, 3, 4)], rel=1e-4)


def test_stale_optimizer_leaves_the_new_model_untouched() -> None:
    """clip-max-norm-tuning-stale-optimizer."""
    old, new = nn.Linear(2, 1), nn.Linear(2, 1)
    opt = torch.optim.SGD(old.parameters(), lr=0.1)
    before = new.weight.detach().clone()
    new(torch.ones(1, 2)).sum().backward()
    opt.step()
    assert torch.equal(new.weight, before)


def test_recurrent_parameter_counts_and_gru_convention() -> None:
    """gru-vs-lstm, gru-vs-lstm-parameter-count."""
    count = lambda m: sum(p.numel() for p in m.parameters())  # noqa: E731
    assert (count(nn.GRU(32, 64)), count(nn.LSTM(32, 64))) == (18816, 25088)
    assert count(nn.LSTM(16, 256)) == 4 * (256 * 16 + 256**2 + 2 * 256)
    cell = nn.GRUCell(2, 3)
    with torch.no_grad():
        cell.bias_ih[3:6] = 100.0  # the update gate z is driven to 1
    h = torch.randn(1, 3)
    assert torch.allclose(cell(torch.randn(1, 2), h), h, atol=1e-5)


def test_batchnorm_weight_scale_invariance() -> None:
    """batchnorm-gradient-flow: scaling W by a divides its gradient by a."""
    torch.manual_seed(0)
    x, target = torch.randn(32, 8).double(), torch.randn(32, 8).double()
    weight = torch.randn(8, 8).double()

    def grad(a: float) -> torch.Tensor:
        w = (a * weight).requires_grad_()
        ((F.batch_norm(x @ w.T, None, None, training=True, eps=1e-12) - target) ** 2).mean().backward()
        assert w.grad is not None
        return w.grad

    assert torch.allclose(grad(1.0), 4 * grad(4.0), rtol=1e-5, atol=1e-9)


def test_he_and_default_initialisation() -> None:
    """relu-gradient-flow-he-std, xavier-vs-he, init-variance-derivation-uniform-bound."""
    torch.manual_seed(0)
    conv = nn.Conv2d(64, 256, 3)
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    assert conv.weight.std().item() == pytest.approx(math.sqrt(2 / (64 * 9)), rel=0.02)
    lin = nn.Linear(300, 1000)
    assert lin.weight.var().item() == pytest.approx(1 / 900, rel=0.02)
    assert lin.weight.abs().max().item() <= 1 / math.sqrt(300)
    w = torch.empty(100, 300)
    nn.init.xavier_uniform_(w)
    assert w.abs().max().item() == pytest.approx(0.1225, abs=1e-3)
    nn.init.kaiming_uniform_(w, nonlinearity="relu")
    assert w.abs().max().item() == pytest.approx(math.sqrt(6 / 300), rel=0.01)
    assert nn.init.calculate_gain("tanh") == pytest.approx(5 / 3)
    assert nn.init.calculate_gain("leaky_relu", 0.1) == pytest.approx(math.sqrt(2 / 1.01))


def test_relu_mean_square_over_20_layers() -> None:
    """init-variance-derivation, -wrong-gain: 1/fan_in gives about 1e-6, 2/fan_in about 1."""
    results = {}
    for gain in (1, 2):
        torch.manual_seed(0)
        x = torch.randn(256, 512)
        start = x.pow(2).mean()
        for _ in range(20):
            x = torch.relu(x @ (torch.randn(512, 512) * math.sqrt(gain / 512)))
        results[gain] = (x.pow(2).mean() / start).item()
    assert math.log10(results[1]) == pytest.approx(20 * math.log10(0.5), abs=0.3)
    assert 0.4 < results[2] < 2.5


def test_zero_weights_and_dead_relus_leave_the_output_bias() -> None:
    """xavier-vs-he-all-zero, relu-dead-units-flat-loss."""
    for zero in (True, False):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        with torch.no_grad():
            if zero:
                for p in model.parameters():
                    p.zero_()
            else:
                model[0].bias.fill_(-100.0)
        F.cross_entropy(model(torch.randn(7, 4)), torch.tensor([0, 0, 1, 1, 2, 2, 2])).backward()
        nonzero = [n for n, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0]
        assert nonzero == ["2.bias"]
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    F.cross_entropy(model(torch.randn(6, 4)), torch.tensor([0, 0, 1, 1, 2, 2])).backward()
    assert all(p.grad is not None and p.grad.abs().max() < 1e-7 for p in model.parameters())


def test_norm_layer_statistics() -> None:
    """norm-layer-axes, -mean-count, -sample-coupling: 16, 8 and 32 means."""
    torch.manual_seed(0)
    x = torch.randn(8, 16, 4, 4)
    bn, ln, gn = nn.BatchNorm2d(16), nn.LayerNorm([16, 4, 4]), nn.GroupNorm(4, 16)
    assert bn(x).mean((0, 2, 3)).abs().max() < 1e-5
    assert ln(x).mean((1, 2, 3)).abs().max() < 1e-5
    assert gn(x).view(8, 4, -1).mean(-1).abs().max() < 1e-5
    assert {m.eps for m in (bn, ln, gn)} == {1e-5}
    other = x.clone()
    other[1:] *= 3
    for layer, coupled in ((bn, True), (ln, False), (gn, False), (nn.InstanceNorm2d(16), False)):
        assert torch.allclose(layer(x)[0], layer(other)[0], atol=1e-6) is not coupled
    fresh = nn.BatchNorm1d(1, momentum=1.0)
    v = torch.randn(5, 1)
    out = fresh(v)
    assert fresh.running_var.item() == pytest.approx(v.var(unbiased=True).item(), rel=1e-5)
    assert out.var(unbiased=False).item() == pytest.approx(1.0, abs=1e-3)


def test_batchnorm_with_one_and_two_samples() -> None:
    """batchnorm-small-batch."""
    with pytest.raises(ValueError):
        nn.BatchNorm1d(4)(torch.randn(1, 4))
    assert nn.BatchNorm2d(4)(torch.randn(1, 4, 3, 3)).shape == (1, 4, 3, 3)
    assert torch.allclose(nn.BatchNorm1d(4)(100 * torch.randn(2, 4)).abs(), torch.ones(2, 4), atol=1e-3)


def test_layernorm_details() -> None:
    """layernorm-from-scratch, -factor-off: backward formula, unbiased factor, constant rows."""
    torch.manual_seed(0)
    x = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    dy = torch.randn(3, 6, dtype=torch.float64)
    gamma = torch.randn(6, dtype=torch.float64)
    F.layer_norm(x, (6,), gamma).backward(dy)
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    sigma = (var + 1e-5).sqrt()
    xhat, g = (x - mean) / sigma, dy * gamma
    expect = (g - g.mean(-1, keepdim=True) - xhat * (g * xhat).mean(-1, keepdim=True)) / sigma
    assert x.grad is not None
    assert torch.allclose(x.grad, expect)
    unbiased = (x - mean) / (x.var(-1, keepdim=True)).sqrt()
    plain = F.layer_norm(x, (6,), eps=0.0)
    assert torch.allclose(unbiased / plain, torch.full_like(plain, math.sqrt(5 / 6)))
    beta = torch.arange(6.0)
    assert torch.equal(F.layer_norm(torch.full((1, 6), 3.0), (6,), torch.ones(6), beta)[0], beta)


def test_none_and_zero_gradients() -> None:
    """zero-gradients-everywhere and its cards."""
    trunk, head = nn.Linear(3, 3), nn.Linear(3, 1)
    head(trunk(torch.randn(2, 3)).detach()).sum().backward()
    assert trunk.weight.grad is None
    assert head.weight.grad is not None
    with torch.no_grad():
        loss = head(torch.randn(2, 3)).sum()
    with pytest.raises(RuntimeError, match="does not require grad"):
        loss.backward()
    with pytest.raises(AttributeError):
        head(torch.randn(2, 3)).sum().item().backward()
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 1)).eval()
    model(torch.randn(2, 3)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def _stream(kind: str, depth: int, scale: float = 1.0, d: int = 256) -> list[float]:
    torch.manual_seed(0)
    x = torch.randn(32, d)
    out = []
    for _ in range(depth):
        w = torch.randn(d, d) / math.sqrt(d) * scale
        x = x + F.layer_norm(x, (d,)) @ w.T if kind == "pre" else x + x @ w.T
        out.append(x.var().item())
    return out


def test_residual_stream_variance() -> None:
    """prenorm-depth-scaling, -stream-std: 2^L without norms, 1 + l in pre-norm, 2 when scaled."""
    assert math.log2(_stream("none", 24)[-1]) == pytest.approx(24, abs=1)
    pre = _stream("pre", 48)
    assert pre[11] == pytest.approx(13, rel=0.1)
    assert pre[-1] == pytest.approx(49, rel=0.1)
    assert _stream("pre", 48, scale=1 / math.sqrt(48))[-1] == pytest.approx(2, rel=0.05)
    assert _stream("none", 48, scale=1 / math.sqrt(48))[-1] == pytest.approx((1 + 1 / 48) ** 48, rel=0.1)
    assert math.e > (1 + 1 / 48) ** 48


def test_postnorm_skip_share() -> None:
    """prenorm-depth-scaling-postnorm-share: amplitude of the input falls as 2^(-L/2)."""
    torch.manual_seed(0)
    x0 = torch.randn(32, 512)
    x = x0
    for depth in range(1, 7):
        x = F.layer_norm(x + x @ torch.randn(512, 512).T / math.sqrt(512), (512,))
        assert (x * x0).mean().item() == pytest.approx(2 ** (-depth / 2), abs=0.04)
    assert 2**12 == 4096


def _gauss(f: object) -> float:
    z = torch.linspace(-10, 10, 8001, dtype=torch.float64)
    w = torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return torch.trapezoid(f(z) * w, z).item()  # type: ignore[operator]


def _chi_of_tanh(weight_variance: float) -> float:
    """Squared-gradient factor per layer at the fixed point of the forward variance, without bias."""
    q = 1.0
    for _ in range(300):
        root = math.sqrt(q)
        q = weight_variance * _gauss(partial(_tanh_squared, root))
    return weight_variance * _gauss(partial(_slope_squared, math.sqrt(q)))


def _tanh_squared(root: float, z: torch.Tensor) -> torch.Tensor:
    return torch.tanh(root * z) ** 2


def _slope_squared(root: float, z: torch.Tensor) -> torch.Tensor:
    return (1 - torch.tanh(root * z) ** 2) ** 2


def test_edge_of_chaos() -> None:
    """edge-of-chaos-variance, -relu-depth: chi for ReLU and tanh, correlations at criticality."""
    assert _gauss(lambda z: (z > 0).double()) == pytest.approx(0.5, abs=1e-3)
    assert _gauss(lambda z: torch.relu(z) ** 2) == pytest.approx(0.5, abs=1e-6)
    assert _chi_of_tanh(1.5) == pytest.approx(1.04, abs=0.005)
    c, seen = 0.0, {}
    for layer in range(1, 11):
        c = (math.sqrt(1 - c * c) + c * (math.pi - math.acos(c))) / math.pi
        seen[layer] = c
    assert seen[1] == pytest.approx(0.32, abs=0.005)
    assert seen[10] == pytest.approx(0.87, abs=0.005)
    assert 1 / math.log(2) == pytest.approx(1.44, abs=0.01)
