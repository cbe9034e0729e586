"""Computed claims of content/questions/backpropagation.yaml."""

import math
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


def _mlp(batch: int = 8, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    x = torch.randn(batch, 5, dtype=dtype)
    y = torch.randint(3, (batch,))
    w1, b1 = torch.randn(7, 5, dtype=dtype) * 0.5, torch.randn(7, dtype=dtype) * 0.1
    w2, b2 = torch.randn(3, 7, dtype=dtype) * 0.5, torch.randn(3, dtype=dtype) * 0.1
    return x, y, w1, b1, w2, b2


def _backward_by_hand(
    x: torch.Tensor, y: torch.Tensor, w1: torch.Tensor, b1: torch.Tensor, w2: torch.Tensor, b2: torch.Tensor
) -> list[torch.Tensor]:
    z1 = x @ w1.T + b1
    a1 = z1.relu()
    z2 = a1 @ w2.T + b2
    dz2 = (z2.softmax(1) - F.one_hot(y, 3)) / len(x)
    dz1 = (dz2 @ w2) * (z1 > 0)
    return [dz1.T @ x, dz1.sum(0), dz2.T @ a1, dz2.sum(0)]


def _backward_by_autograd(*args: torch.Tensor) -> list[torch.Tensor]:
    x, y, *weights = args
    leaves = [w.clone().requires_grad_() for w in weights]
    w1, b1, w2, b2 = leaves
    loss = F.cross_entropy(F.linear(F.linear(x, w1, b1).relu(), w2, b2), y)
    return list(torch.autograd.grad(loss, leaves))


def _products(profile: torch.autograd.profiler.profile) -> int:
    """How many matrix products ran (addmm calls no mm of its own)."""
    return sum(event.name in ("aten::mm", "aten::addmm") for event in profile.function_events)


def test_backward_leaves_weights_alone() -> None:
    """gd-vs-backprop, loss-backward-semantics."""
    net = nn.Linear(3, 1)
    before = net.weight.detach().clone()
    net(torch.randn(4, 3)).square().mean().backward()
    assert torch.equal(net.weight, before)
    assert net.weight.grad is not None


def test_backward_costs_about_twice_the_forward() -> None:
    """what-is-backprop, linear-layer-gradients: FLOP counts of a deep linear stack."""
    net = nn.Sequential(*[nn.Linear(16, 16) for _ in range(20)])
    x = torch.randn(4, 16, requires_grad=True)
    with torch.autograd.profiler.profile() as forward:
        loss = net(x).sum()
    with torch.autograd.profiler.profile() as backward:
        loss.backward()
    assert _products(forward) == 20
    assert _products(backward) == 40  # all of the same size, 4 × 16 × 16


def test_two_layer_backward_takes_three_products_against_two() -> None:
    """batch-backprop-shapes: the first layer needs no dX."""
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    with torch.autograd.profiler.profile() as forward:
        loss = net(torch.randn(4, 6)).sum()
    with torch.autograd.profiler.profile() as backward:
        loss.backward()
    assert (_products(forward), _products(backward)) == (2, 3)


def test_chain_rule_example() -> None:
    """chain-rule, chain-rule-sigmoid-squared."""
    for w0, x, y in ((0.0, 2.0, 1.0), (0.5, -1.0, 0.0)):
        w = torch.tensor(w0, dtype=torch.float64, requires_grad=True)
        ((w * x).sigmoid() - y).square().backward()
        s = 1 / (1 + math.exp(-w0 * x))
        assert w.grad is not None
        assert w.grad.item() == pytest.approx(2 * (s - y) * s * (1 - s) * x)
    assert 2 * (0.5 - 1) * 0.25 * 2 == -0.5


def test_jacobians_multiply() -> None:
    """chain-rule: q×n = (q×m)(m×n)."""
    a, b = torch.randn(4, 3).double(), torch.randn(2, 4).double()

    def inner(x: torch.Tensor) -> torch.Tensor:
        return (a @ x).tanh()

    def outer(u: torch.Tensor) -> torch.Tensor:
        return (b @ u).sin()

    x = torch.randn(3).double()
    whole = torch.func.jacrev(lambda t: outer(inner(t)))(x)
    parts = torch.func.jacrev(outer)(inner(x)) @ torch.func.jacrev(inner)(x)
    assert whole.shape == (2, 3)
    assert torch.allclose(whole, parts)


def test_number_of_passes_in_forward_and_reverse_mode() -> None:
    """reverse-vs-forward-mode, reverse-vs-forward-mode-wide-output: 3 JVPs build a 50×3 Jacobian."""
    a = torch.randn(50, 3).double()

    def f(x: torch.Tensor) -> torch.Tensor:
        return (a @ x).tanh()

    x = torch.randn(3).double()
    columns = [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(3).double()]
    assert torch.allclose(torch.stack(columns, 1), torch.func.jacrev(f)(x))
    _, vjp = torch.func.vjp(f, x)
    rows = [vjp(u)[0] for u in torch.eye(50).double()]
    assert torch.allclose(torch.stack(rows), torch.func.jacfwd(f)(x))


def test_hessian_vector_product_forward_over_reverse() -> None:
    """reverse-vs-forward-mode follow-up."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.pow(3).sum() + x.prod()

    x, v = torch.randn(4).double(), torch.randn(4).double()
    _, hvp = torch.func.jvp(torch.func.grad(f), (x,), (v,))
    assert torch.allclose(hvp, torch.func.hessian(f)(x) @ v)


def test_depth_first_backward_visits_diamonds_exponentially() -> None:
    """backward-pass-order: one visit per path against one per node on stacked diamonds."""

    def visits_per_path(level: int) -> int:
        return 1 if level == 0 else 1 + 2 * visits_per_path(level - 1)

    assert visits_per_path(15) > 2**15
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(40):
        y = y + y
    y.backward()  # one visit per node: immediate
    assert x.grad is not None
    assert x.grad.item() == 2.0**40


def test_intermediate_gradients_are_dropped() -> None:
    """backward-pass-order, loss-backward-semantics."""
    w = torch.tensor(2.0, requires_grad=True)
    kept, lost = w * 3, w * 5
    kept.retain_grad()
    (kept * lost).backward()
    assert kept.grad is not None
    assert kept.grad.item() == 10.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert lost.grad is None


def test_linear_layer_gradients_and_shapes() -> None:
    """linear-layer-gradients, linear-layer-gradients-torch-weight."""
    layer = nn.Linear(784, 10).double()
    x = torch.randn(32, 784, dtype=torch.float64, requires_grad=True)
    z = layer(x)
    g = torch.randn_like(z)
    z.backward(g)
    assert layer.weight.shape == (10, 784)
    assert torch.allclose(layer.weight.grad, g.T @ x)
    assert torch.allclose(layer.bias.grad, g.sum(0))
    assert torch.allclose(x.grad, g @ layer.weight)


def test_two_layer_net_by_hand() -> None:
    """linear-layer-gradients-two-layer-by-hand."""
    for x, w1v, w2, y in ((1.0, 2.0, -1.0, 0.0), (2.0, 3.0, 0.5, 1.0), (2.0, -1.0, 2.0, 1.0)):
        w1 = torch.tensor(w1v, dtype=torch.float64, requires_grad=True)
        (0.5 * (w2 * (w1 * x).relu() - y) ** 2).backward()
        mask = 1 if w1v * x > 0 else 0
        assert w1.grad is not None
        assert w1.grad.item() == pytest.approx((w2 * max(0, w1v * x) - y) * w2 * mask * x)


def test_relu_derivatives() -> None:
    """relu-backward, relu-backward-at-zero."""
    z = torch.tensor([-3.0, 0.0, 3.0], requires_grad=True)
    z.relu().backward(torch.full((3,), 7.0))
    assert z.grad is not None
    assert z.grad.tolist() == [0.0, 0.0, 7.0]
    z = torch.tensor([-3.0], requires_grad=True)
    nn.LeakyReLU()(z).backward()
    assert z.grad is not None
    assert z.grad.item() == pytest.approx(0.01)
    a = torch.randn(1000)
    assert torch.equal(a.relu() > 0, a > 0)
    w = torch.randn(4, 4, requires_grad=True)
    (w * 2).relu_().sum().backward()  # in place works, the output serves as mask


def test_jvp_vjp_pair() -> None:
    """jvp-vs-vjp, jvp-vs-vjp-first-component: dot-product test, softmax VJP, the worked example."""
    z, u, v = (torch.randn(5).double() for _ in range(3))

    def softmax(t: torch.Tensor) -> torch.Tensor:
        return t.softmax(0)

    p, jv = torch.func.jvp(softmax, (z,), (v,))
    (uj,) = torch.func.vjp(softmax, z)[1](u)
    assert torch.dot(u, jv) == pytest.approx(torch.dot(uj, v).item())
    assert torch.allclose(uj, p * (u - torch.dot(u, p)))
    x = torch.tensor([2.0, 3.0])
    (r,) = torch.func.vjp(lambda t: torch.stack([t[0] * t[1], t.sum()]), x)[1](torch.tensor([1.0, 10.0]))
    assert r[0].item() == 13
    with pytest.raises(RuntimeError):
        (torch.ones(2, requires_grad=True) * 2).backward()


def test_eval_mode_still_saves_activations() -> None:
    """backprop-activation-memory: eval() keeps the graph, no_grad() does not; addition saves nothing."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).eval()
    saved: list[int] = []

    def pack(t: torch.Tensor) -> torch.Tensor:
        saved.append(t.numel())
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        net(torch.randn(2, 4))
        in_eval = len(saved)
        with torch.no_grad():
            net(torch.randn(2, 4))
        without_grad = len(saved) - in_eval
        before = len(saved)
        torch.ones(3, requires_grad=True) + torch.ones(3, requires_grad=True)
        for_addition = len(saved) - before
    assert in_eval > 0
    assert without_grad == for_addition == 0


def test_activation_bytes() -> None:
    """backprop-activation-memory-bytes: 16 tensors a layer, batch 8, 2,048 × 4,096, 32 layers, BF16."""
    one = torch.empty(8, 2048, 4096, dtype=torch.bfloat16, device="meta")
    assert 16 * 32 * one.numel() * one.element_size() / 1e9 == pytest.approx(68.72, abs=0.01)


def test_shared_parameter_gradients_add_up() -> None:
    """shared-parameter-gradients, shared-parameter-gradients-two-uses."""
    w = torch.tensor(3.0, requires_grad=True)
    (w * (w * 2 + 1)).backward()
    assert w.grad is not None
    assert w.grad.item() == 13
    table = nn.Embedding(6, 4)
    tokens = torch.tensor([1, 2])
    F.cross_entropy(table(tokens) @ table.weight.T, torch.tensor([3, 4])).backward()
    a, b = (table.weight.detach().clone().requires_grad_() for _ in range(2))
    F.cross_entropy(a[tokens] @ b.T, torch.tensor([3, 4])).backward()
    assert table.weight.grad is not None
    assert a.grad is not None
    assert b.grad is not None
    assert torch.allclose(table.weight.grad, a.grad + b.grad, atol=1e-6)


def test_backward_accumulates_and_frees() -> None:
    """loss-backward-semantics, loss-backward-semantics-accumulated-grad, computational-graph."""
    w = torch.tensor(2.0, requires_grad=True)
    for _ in range(3):
        (3 * w * w).backward()
    assert w.grad is not None
    assert w.grad.item() == 3 * 12.0
    loss = (w * w).exp()
    loss.backward()
    with pytest.raises(RuntimeError):
        loss.backward()
    nothing_saved = w.sum()
    nothing_saved.backward()
    nothing_saved.backward()
    optimizer = torch.optim.SGD([w], lr=0.1)
    optimizer.zero_grad()
    assert w.grad is None
    assert (w * 2).detach().grad_fn is None


def test_graph_records_python_control_flow() -> None:
    """computational-graph."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * x if x.item() > 0 else -x

    for start, slope in ((3.0, 6.0), (-3.0, -1.0)):
        x = torch.tensor(start, requires_grad=True)
        f(x).backward()
        assert x.grad is not None
        assert x.grad.item() == slope


def test_two_layer_forward_shapes_and_parameters() -> None:
    """two-layer-forward, two-layer-forward-parameter-count."""
    net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    assert sum(p.numel() for p in net.parameters()) == 101_770
    assert net[0].weight.shape == (128, 784)
    assert net(torch.randn(32, 784)).shape == (32, 10)
    z = torch.randn(4, 4)
    wrong = z + torch.arange(4.0)[:, None].expand(4, 1)
    assert wrong.shape == z.shape
    assert not torch.equal(wrong, z + torch.arange(4.0))
    assert (z + torch.arange(4.0)).shape == (4, 4)  # a (B,) bias passes silently when B equals the width
    with pytest.raises(RuntimeError):
        torch.randn(5, 4) + torch.randn(5)


def test_softmax_cross_entropy_gradient() -> None:
    """softmax-ce-gradient and cards."""
    torch.manual_seed(0)
    z = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    y = torch.randint(4, (6,))
    F.cross_entropy(z, y).backward()
    expected = (z.softmax(1) - F.one_hot(y, 4)) / 6
    assert z.grad is not None
    assert torch.allclose(z.grad, expected)
    assert torch.allclose(z.grad.sum(1), torch.zeros(6).double(), atol=1e-12)
    assert z.grad.abs().max() <= 1 / 6
    u = torch.zeros(1, 10, dtype=torch.float64, requires_grad=True)
    F.cross_entropy(u, torch.tensor([2])).backward()
    assert u.grad is not None
    assert u.grad[0, 2].item() == pytest.approx(-0.9)
    assert u.grad[0, 0].item() == pytest.approx(0.1)
    logits = torch.tensor([[0.7, 0.2, 0.1]]).double().log().requires_grad_()
    F.cross_entropy(logits, torch.tensor([0])).backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == pytest.approx([-0.3, 0.2, 0.1])


def test_smoothed_target_replaces_one_hot() -> None:
    """softmax-ce-gradient: label smoothing."""
    z = torch.randn(1, 4, dtype=torch.float64, requires_grad=True)
    F.cross_entropy(z, torch.tensor([1]), label_smoothing=0.1).backward()
    target = torch.full((4,), 0.025, dtype=torch.float64)
    target[1] += 0.9
    assert z.grad is not None
    assert torch.allclose(z.grad[0], z[0].softmax(0) - target)


def test_full_backward_by_hand_matches_autograd() -> None:
    """batch-backprop-shapes and cards, backprop-whiteboard-script."""
    args = _mlp()
    for mine, theirs in zip(_backward_by_hand(*args), _backward_by_autograd(*args), strict=True):
        assert mine.shape == theirs.shape
        assert torch.allclose(mine, theirs)
    x, _, w1, *_ = args
    dz = torch.randn(8, 7).double()
    outer = sum((torch.outer(dz[b], x[b]) for b in range(8)), torch.zeros_like(w1))
    assert torch.allclose(outer, dz.T @ x)


def test_dividing_twice_or_never_gives_a_constant_ratio() -> None:
    """divide-by-batch-once and cards."""
    for batch in (5, 64):
        args = _mlp(batch)
        right = _backward_by_autograd(*args)
        hand = _backward_by_hand(*args)
        for factor, ratio in ((1 / batch, batch), (batch, 1 / batch)):
            for mine, theirs in zip(hand, right, strict=True):
                keep = theirs.abs() > 1e-9
                quotient = theirs[keep] / (factor * mine[keep])
                assert torch.allclose(quotient, torch.full_like(quotient, ratio))


def _check_error(dtype: torch.dtype, eps: float) -> float:
    """Relative error of a central-difference gradient of a small tanh network."""
    torch.manual_seed(1)
    w1 = torch.randn(8, 5, dtype=dtype) * 0.5
    w2 = torch.randn(3, 8, dtype=dtype) * 0.5
    x, y = torch.randn(4, 5, dtype=dtype), torch.tensor([0, 1, 2, 1])

    def loss(w: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy((x @ w.T).tanh() @ w2.T, y)

    leaf = w1.clone().requires_grad_()
    exact = torch.autograd.grad(loss(leaf), leaf)[0].double()
    numeric = torch.zeros_like(exact)
    for i in range(8):
        for j in range(5):
            up, down = w1.clone(), w1.clone()
            up[i, j] += eps
            down[i, j] -= eps
            numeric[i, j] = (loss(up).item() - loss(down).item()) / (2 * eps)
    return ((numeric - exact).norm() / (numeric.norm() + exact.norm())).item()


def test_finite_difference_errors() -> None:
    """finite-difference-check, finite-difference-check-dtype-and-step."""
    double = {eps: _check_error(torch.float64, eps) for eps in (1e-3, 1e-6, 1e-9, 1e-12)}
    assert 1e-7 < double[1e-3] < 2e-6
    assert double[1e-6] < 2e-9
    assert 1e-8 < double[1e-9] < 2e-6
    assert double[1e-12] > 1e-5
    assert 0.01 < _check_error(torch.float32, 1e-6) < 0.6
    assert _check_error(torch.float32, 1e-9) > 0.9
    assert torch.finfo(torch.float64).eps ** (1 / 3) == pytest.approx(6e-6, rel=0.02)


def test_directional_derivative_and_gradcheck() -> None:
    """finite-difference-check follow-up; gradcheck wants float64."""
    a = torch.randn(50).double()

    def f(x: torch.Tensor) -> torch.Tensor:
        return (a * x).tanh().sum()

    x, u = torch.randn(50).double(), torch.randn(50).double()
    numeric = (f(x + 1e-6 * u) - f(x - 1e-6 * u)).item() / 2e-6
    assert torch.dot(torch.func.grad(f)(x), u).item() == pytest.approx(numeric, rel=1e-6)
    assert torch.autograd.gradcheck(f, (x.requires_grad_(),))


def test_restoring_by_subtraction_leaves_rounding() -> None:
    """finite-difference-check: entries below the step are not restored exactly; keep the old value."""
    values = torch.randn(1000, dtype=torch.float64)
    small = values * 1e-8
    assert torch.allclose((values + 1e-6) - 1e-6, values, rtol=1e-15)
    assert not torch.equal((small + 1e-6) - 1e-6, small)


def test_dropout_breaks_the_check() -> None:
    """finite-difference-check follow-up: the mask changes between evaluations."""
    torch.manual_seed(0)
    w = torch.ones(100, dtype=torch.float64)
    numeric = (F.dropout(w + 1e-6).sum() - F.dropout(w - 1e-6).sum()).item() / 2e-6
    assert abs(numeric - 100) > 1e4
