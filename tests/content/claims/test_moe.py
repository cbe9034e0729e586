"""The computed claims of content/questions/moe.yaml."""

import math

import pytest
import torch


def test_softmax_before_or_after_the_choice() -> None:
    """moe-routing"""
    z = torch.tensor([1.0, 3.0, -2.0, 2.0])
    chosen = z.softmax(0).topk(2)
    assert torch.allclose(chosen.values / chosen.values.sum(), z[chosen.indices].softmax(0))


def test_renormalized_top_one_gate_has_no_gradient() -> None:
    """moe-routing-top-one-renormalized"""
    z = torch.tensor([1.0, 3.0, -2.0], requires_grad=True)
    gate = z.softmax(0).topk(1).values
    (grad,) = torch.autograd.grad((gate / gate.sum()).sum() * 5, z, retain_graph=True)
    assert torch.allclose(grad, torch.zeros(3), atol=1e-6)
    (grad,) = torch.autograd.grad(gate.sum() * 5, z)
    assert grad.abs().max() > 0.1


@pytest.mark.parametrize(("tokens", "c", "share"), [(512, 1, 0.05), (512, 1.25, 0.001), (64, 1, 0.13)])
def test_balanced_routing_drops(tokens: int, c: float, share: float) -> None:
    """moe-capacity"""
    torch.manual_seed(0)
    counts = torch.stack(
        [torch.bincount(torch.randint(8, (tokens,)), minlength=8) for _ in range(2000)]
    ).double()
    dropped = (counts - c * tokens / 8).clamp_min(0).sum(1) / tokens
    assert dropped.mean().item() == pytest.approx(share, rel=0.3)


def test_balance_loss_range() -> None:
    """moe-load-balancing, moe-load-balancing-loss-value"""
    E = 8
    uniform = torch.full((E,), 1 / E)
    one = torch.eye(E)[0]
    skewed = torch.softmax(torch.randn(E, generator=torch.Generator().manual_seed(0)), 0)
    assert E * (one * one).sum() == E
    assert (E * (uniform * skewed).sum()).item() == pytest.approx(1)
    assert (E * (skewed * uniform).sum()).item() == pytest.approx(1)


def test_mixtral_parameters() -> None:
    """moe-active-vs-total"""
    d, layers, f, V = 4096, 32, 14336, 32000
    shared = 2 * V * d + layers * (2 * d * d + 2 * d * d // 4)
    expert = 3 * d * f * layers
    assert (shared + 8 * expert) / 1e9 == pytest.approx(46.7, abs=0.05)
    assert (shared + 2 * expert) / 1e9 == pytest.approx(12.9, abs=0.05)


def test_touched_experts() -> None:
    """moe-active-vs-total-touched"""
    torch.manual_seed(0)
    E, k, B = 64, 8, 8
    touched = [len({int(e) for _ in range(B) for e in torch.randperm(E)[:k]}) for _ in range(400)]
    assert sum(touched) / len(touched) / E == pytest.approx(1 - (1 - k / E) ** B, rel=0.02)


def test_bias_flips_the_choice() -> None:
    """moe-load-balancing-bias-steps"""
    for gap in (0.0105, 0.0253, 0.0501):
        updates = 0
        while gap - 2 * 0.001 * updates > 0:
            updates += 1
        assert updates == math.floor(gap / 0.002) + 1
