"""The computed claims of content/questions/debugging.yaml."""

import ast
import itertools
import math
import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

INF = float("inf")


def grad_of(f: Callable[[Tensor], Tensor], x: list[float]) -> Tensor:
    t = torch.tensor(x, requires_grad=True)
    f(t).sum().backward()
    assert t.grad is not None
    return t.grad


def param_with_grad(values: list[float]) -> nn.Parameter:
    p = nn.Parameter(torch.zeros(len(values)))
    p.grad = torch.tensor(values)
    return p


def memorise(
    x: Tensor, y: Tensor, loss_fn: Callable[[Tensor, Tensor], Tensor], steps: int = 300
) -> tuple[float, nn.Module]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 10))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()
    return loss_fn(net(x), y).item(), net


def data() -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(1)
    return torch.randn(16, 8, generator=g), torch.arange(16) % 10


def test_exp_limits_of_the_formats() -> None:
    """fp16-nan-debug, fp16-nan-debug-exp-limit"""
    for dtype, limit in (
        (torch.float16, 11.09),
        (torch.bfloat16, 88.72),
        (torch.float32, 88.72),
        (torch.float64, 709.78),
        (torch.float8_e5m2, 10.96),
        (torch.float8_e4m3fn, 6.10),
    ):
        assert math.log(torch.finfo(dtype).max) == pytest.approx(limit, abs=0.01)
    assert torch.tensor(11.0).half().exp().isfinite()
    assert torch.tensor(11.1).half().exp().isinf()
    assert torch.finfo(torch.bfloat16).max == pytest.approx(3.38953e38, rel=1e-5)


def test_library_softmax_survives_large_float16_logits() -> None:
    """fp16-nan-debug"""
    got = torch.softmax(torch.tensor([100.0, 95.0, 90.0]).half(), 0).float()
    assert got.tolist() == pytest.approx([0.993, 0.007, 0.00005], abs=5e-4)


def test_constants_that_float16_cannot_hold() -> None:
    """fp16-nan-debug, nan-debug-procedure"""
    assert torch.tensor(1e-8).half() == 0
    assert torch.tensor(-1e9).half() == -INF
    assert torch.softmax(torch.full((4,), -INF), 0).isnan().all()


def test_fresh_embedding_has_a_large_matrix_norm() -> None:
    """fp16-nan-debug"""
    torch.manual_seed(0)
    assert nn.Embedding(1000, 64).weight.norm().item() == pytest.approx(253, rel=0.02)


def test_anomaly_mode_reports_nan_gradients_only() -> None:
    """nan-debug-procedure, nan-debug-procedure-anomaly-raises, late-nan-triage"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True):
            assert grad_of(torch.log, [-1.0]).tolist() == [-1.0]
            assert grad_of(torch.sqrt, [0.0]).isinf().all()
            with pytest.raises(RuntimeError, match="nan"):
                grad_of(lambda x: torch.sqrt(x) * 0, [0.0])


def test_where_does_not_protect_backward() -> None:
    """nan-debug-procedure, nan-debug-procedure-where-gradient"""
    bad = grad_of(lambda x: torch.where(x > 0, x.log(), 0.0), [0.0, 1.0])
    assert bad[0].isnan()
    assert bad[1] == 1
    good = grad_of(lambda x: torch.where(x > 0, torch.where(x > 0, x, 1.0).log(), 0.0), [0.0, 1.0])
    assert good.isfinite().all()


def test_clipping_with_nonfinite_norm_spoils_gradients() -> None:
    """nan-debug-procedure, nan-root-causes, measure-norm-safely, measure-norm-safely-clip-inf"""
    p = param_with_grad([1.0, 2.0, INF])
    nn.utils.clip_grad_norm_([p], 1e9)
    assert p.grad is not None
    assert p.grad[:2].tolist() == [0, 0]
    assert p.grad[2].isnan()
    p = param_with_grad([1.0, 2.0, INF])
    nn.utils.clip_grad_norm_([p], INF)
    assert p.grad is not None
    assert p.grad.isnan().all()
    p = param_with_grad([1.0, 2.0, float("nan")])
    nn.utils.clip_grad_norm_([p], 1.0)
    assert p.grad is not None
    assert p.grad.isnan().all()


def test_safe_ways_to_measure_the_norm() -> None:
    """detect-exploding-gradients, measure-norm-safely, grad-norm-quantiles-global-norm"""
    p = param_with_grad([3.0, 4.0])
    assert nn.utils.clip_grad_norm_([p], INF) == 5
    assert p.grad is not None
    assert p.grad.tolist() == [3, 4]
    assert nn.utils.clip_grad_norm_([p], 1.0) == 5
    assert p.grad.norm().item() == pytest.approx(1, rel=1e-4)
    bad = param_with_grad([1.0, INF])
    assert nn.utils.get_total_norm([bad.grad]).isinf()
    with pytest.raises(RuntimeError):
        nn.utils.clip_grad_norm_([bad], 1.0, error_if_nonfinite=True)
    assert bad.grad is not None
    assert bad.grad[0] == 1
    assert nn.utils.get_total_norm([torch.tensor([5.0]), torch.tensor([12.0])]) == 13


def test_initial_loss_and_bits_per_byte() -> None:
    """scenario-early-plateau-initial-loss, -uniform-loss, scenario-good-loss-bad-quality-bits-per-byte"""
    for v, want in ((32000, 10.37), (128256, 11.76)):
        loss = F.cross_entropy(torch.zeros(1, v), torch.tensor([5])).item()
        assert loss == pytest.approx(want, abs=0.005)
    text = "a short text of bytes"
    tokens, nats = 7, 2.2  # loss per token; the same text costs as many bits in either unit
    per_byte = nats / (math.log(2) * (len(text.encode()) / tokens))
    assert per_byte * len(text.encode()) == pytest.approx(nats * tokens / math.log(2))


def test_standard_error_by_simulation() -> None:
    """scenario-good-loss-bad-quality-accuracy-error"""
    g = torch.Generator().manual_seed(0)
    runs = (torch.rand(4000, 400, generator=g) < 0.6).float().mean(1)
    assert 100 * runs.std().item() == pytest.approx(100 * math.sqrt(0.6 * 0.4 / 400), rel=0.05)


def test_broadcast_makes_a_matrix_and_a_constant_predictor() -> None:
    """batch-first-shape-contract, batch-first-shape-contract-broadcast-size"""
    assert (torch.zeros(64, 1) - torch.zeros(64)).numel() == 4096
    torch.manual_seed(0)
    target = torch.randn(64)
    pred = torch.randn(64, 1, requires_grad=True)
    opt = torch.optim.SGD([pred], lr=24.0)
    for _ in range(40):
        opt.zero_grad()
        (pred - target).square().mean().backward()
        opt.step()
    assert (pred - target.mean()).abs().max() < 1e-3


def test_assert_vanishes_under_optimisation_and_break_is_a_keyword() -> None:
    """batch-first-shape-contract, runtime-assertions, fault-injection-harness-break-flag"""
    exec(compile("assert False", "x", "exec", optimize=1))
    with pytest.raises(SyntaxError):
        ast.parse("args.break")
    ast.parse('getattr(args, "break")')


def test_double_softmax_floor_and_weak_gradient() -> None:
    """double-softmax, double-softmax-floor, double-softmax-symptom, misleading-signals"""
    for c, want in ((2, 0.313), (3, 0.551), (10, 1.461), (1000, 5.909)):
        best = F.cross_entropy(F.one_hot(torch.tensor([0]), c).float(), torch.tensor([0])).item()
        assert best == pytest.approx(want, abs=1e-3)
        assert best == pytest.approx(math.log(1 + (c - 1) / math.e), rel=1e-5)
    wrong = F.cross_entropy(F.one_hot(torch.tensor([1]), 10).float(), torch.tensor([0])).item()
    assert wrong == pytest.approx(2.461, abs=1e-3)
    z = torch.zeros(1, 10)
    z[0, 1] = 20.0

    def twice(t: Tensor) -> Tensor:
        return F.cross_entropy(torch.softmax(t, 1), torch.tensor([0]))

    x = z.clone().requires_grad_()
    twice(x).backward()
    assert x.grad is not None
    assert x.grad.abs().max() < 1e-6
    xx, yy = data()
    loss, net = memorise(xx, yy, lambda out, y: F.cross_entropy(torch.softmax(out, 1), y), 400)
    assert loss == pytest.approx(1.461, abs=0.01)
    assert (net(xx).argmax(1) == yy).all()


def test_bce_contracts() -> None:
    """bce-logits-contract, bce-logits-contract-double-sigmoid"""
    with pytest.raises(RuntimeError):
        F.binary_cross_entropy(torch.tensor([1.2]), torch.ones(1))
    assert F.binary_cross_entropy(torch.zeros(1), torch.ones(1)) == 100
    z, y = torch.tensor([-3.0, 0.5, 200.0]), torch.tensor([1.0, 0.0, 0.0])
    stable = z.clamp(min=0) - z * y + torch.log1p(torch.exp(-z.abs()))
    assert torch.allclose(F.binary_cross_entropy_with_logits(z, y, reduction="none"), stable)
    p = torch.linspace(0, 1, 101)
    squashed = torch.sigmoid(p)
    assert squashed.min() == 0.5
    assert squashed.max().item() == pytest.approx(0.731, abs=1e-3)
    pos = F.binary_cross_entropy_with_logits(p, torch.ones(101), reduction="none")
    neg = F.binary_cross_entropy_with_logits(p, torch.zeros(101), reduction="none")
    assert pos.min().item() == pytest.approx(0.313, abs=1e-3)
    assert neg.min().item() == pytest.approx(0.693, abs=1e-3)


def test_activation_variance_by_depth() -> None:
    """activation-variance-by-depth: Xavier decays and He holds under ReLU"""
    out = {}
    for name, init in (("xavier", nn.init.xavier_normal_), ("he", nn.init.kaiming_normal_)):
        torch.manual_seed(0)
        x = torch.randn(256, 256)
        for _ in range(8):
            w = torch.empty(256, 256)
            (init(w, nonlinearity="relu") if name == "he" else init(w))
            x = torch.relu(x @ w.T)
        out[name] = x.square().mean().item()
    assert out["he"] == pytest.approx(0.5 * 2, rel=0.5)
    assert out["xavier"] / out["he"] == pytest.approx(2**-8, rel=0.3)


def test_smoothing_floor() -> None:
    """regularizers-off-first-smoothing-floor, -half-a-nat: the best logits reach the entropy"""
    for s, c in ((0.1, 10), (0.2, 100), (0.05, 3)):
        q = torch.full((1, c), s / c, dtype=torch.float64)
        q[0, 0] += 1 - s
        loss = F.cross_entropy(q.log(), torch.tensor([0]), label_smoothing=s).item()
        hi, lo = 1 - s + s / c, s / c
        assert loss == pytest.approx(-hi * math.log(hi) - (c - 1) * lo * math.log(lo), rel=1e-6)
    x, y = data()
    got, net = memorise(x, y, lambda out, t: F.cross_entropy(out, t, label_smoothing=0.1))
    assert got == pytest.approx(0.500, abs=0.003)
    assert (net(x).argmax(1) == y).all()


def test_label_faults() -> None:
    """nan-root-causes"""
    with pytest.raises(IndexError):
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3]))
    z = torch.zeros(2, 3, requires_grad=True)
    loss = F.cross_entropy(z, torch.tensor([-100, -100]))
    loss.backward()
    assert loss.isnan()
    assert z.grad is not None
    assert (z.grad == 0).all()
    assert torch.isfinite(torch.tensor([10**9])).all()


def test_quantile_limits() -> None:
    """grad-norm-quantiles, grad-norm-quantiles-quantile-limit"""
    with pytest.raises(RuntimeError, match="too large"):
        torch.quantile(torch.zeros(1).expand(2**24 + 1), 0.5)
    with pytest.raises(RuntimeError):
        torch.quantile(torch.zeros(4).half(), 0.5)
    with pytest.raises(RuntimeError):
        torch.quantile(torch.zeros(4), torch.tensor([0.5], dtype=torch.float64))
    for r, c in ((8192, 4096), (32000, 5120), (128256, 8192)):
        n = math.ceil(r * c / 2**24)
        assert len(range(0, r * c, n)) <= 2**24
        assert n == 1 or len(range(0, r * c, n - 1)) > 2**24


def test_logging_with_the_global_generator_changes_the_run() -> None:
    """grad-norm-quantiles"""
    torch.manual_seed(0)
    first = F.dropout(torch.ones(32))
    torch.manual_seed(0)
    torch.randperm(10)
    assert not torch.equal(first, F.dropout(torch.ones(32)))
    torch.manual_seed(0)
    torch.randperm(10, generator=torch.Generator().manual_seed(7))
    assert torch.equal(first, F.dropout(torch.ones(32)))


def test_hook_contract() -> None:
    """activation-instrumentation, activation-instrumentation-hook-returns"""
    layer = nn.Sequential(nn.Linear(2, 2))
    handle = layer[0].register_forward_hook(lambda m, i, o: {"a": 1})
    assert layer(torch.zeros(1, 2)) == {"a": 1}
    handle.remove()
    assert isinstance(layer(torch.zeros(1, 2)), Tensor)
    layer[0].register_forward_hook(lambda name, m, i, o: None)
    with pytest.raises(TypeError):
        layer(torch.zeros(1, 2))


def test_first_losses_betray_axis_and_reduction() -> None:
    """misleading-signals-first-loss-log-b, -first-loss-sum, loss-swap-test, loss-swap-test-batch-axis"""
    z, y = torch.zeros(64, 10), torch.arange(64) % 10
    assert F.cross_entropy(z, y).item() == pytest.approx(2.303, abs=1e-3)
    wrong_axis = F.nll_loss(F.log_softmax(z, 0), y).item()
    assert wrong_axis == pytest.approx(4.16, abs=0.005)
    bigger = F.nll_loss(F.log_softmax(torch.zeros(256, 10), 0), torch.arange(256) % 10).item()
    assert bigger - wrong_axis == pytest.approx(math.log(4), rel=1e-4)
    assert F.cross_entropy(z, y, reduction="sum").item() == pytest.approx(147.4, abs=0.1)


def test_growth_by_step_size_is_geometric() -> None:
    """nan-root-causes-growing-norms"""
    w = torch.tensor(1.0)
    norms = []
    for _ in range(5):
        g = 11.0 * w  # curvature 11 at rate 1: the factor per step is |1 - 11| = 10
        norms.append(abs(g.item()))
        w = w - g
    ratios = [b / a for a, b in itertools.pairwise(norms)]
    assert ratios == pytest.approx([10] * 4)


def test_a_bad_row_fails_at_the_same_step_at_any_rate() -> None:
    """nan-root-causes-same-step, lr-div-ten-test"""
    failing = []
    for lr, clip in ((0.1, False), (0.01, False), (0.1, True)):
        g = torch.Generator().manual_seed(0)
        x, y = torch.randn(20, 4, generator=g), torch.zeros(20, 1)
        x[12, 0] = INF
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=lr)
        for step in range(20):
            loss = F.mse_loss(net(x[step : step + 1]), y[step : step + 1])
            if not loss.isfinite():
                failing.append(step)
                break
            opt.zero_grad()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
    assert failing == [12, 12, 12]


def test_wrong_labels_pass_the_one_batch_test() -> None:
    """overfit-one-batch, overfit-pass-vs-fail, overfit-pass-vs-fail-pass-at-chance"""
    x, y = data()
    for labels in (y, y[torch.randperm(16)], (y + 1) % 10):
        loss, net = memorise(x, labels, F.cross_entropy)
        assert loss < 1e-2
        assert (net(x).argmax(1) == labels).all()


def test_conflicting_duplicates_floor() -> None:
    """overfit-pass-vs-fail, overfit-pass-vs-fail-conflict-floor"""
    for m, a, want in ((2, 1, 0.693), (3, 2, 0.637), (5, 3, 0.673)):
        x = torch.ones(m, 8)
        y = torch.tensor([0] * a + [1] * (m - a))
        assert memorise(x, y, F.cross_entropy)[0] == pytest.approx(want, abs=2e-3)


def test_unregistered_head_never_moves_and_its_gradient_grows() -> None:
    """loss-stuck-high"""
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=1e-6)
    head = nn.Linear(4, 2)
    before, norms = head.weight.clone(), []
    for _ in range(3):
        opt.zero_grad()
        F.cross_entropy(head(body(torch.ones(1, 4))), torch.tensor([0])).backward()
        opt.step()
        assert head.weight.grad is not None
        norms.append(head.weight.grad.norm().item())
    assert torch.equal(before, head.weight)
    assert norms == pytest.approx([norms[0], 2 * norms[0], 3 * norms[0]], rel=1e-3)


def test_rollback_counts_from_a_simulated_run() -> None:
    """late-nan-triage-steps-to-rerun"""
    for k in (250, 500, 1000):
        for f in (5000, 5130, 5999):
            last = max(s for s in range(f) if s % k == 0)
            assert f - last == f - math.floor((f - 1) / k) * k
